"""Reads launch files: every key, every kind of value, and a message with the next step for what is wrong."""

from textwrap import dedent

import numpy as np
import pytest

from simt.events import Direction
from simt.launch import Dim3, LaunchConfig
from simt.launch_file import LaunchFileError, read_launch_file, read_launch_text

HEAD = "grid = 1\nblock = 32\n"


def argument(**keys):
    """A launch file with one argument made of these keys, as TOML text."""
    return HEAD + "[[args]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())


def array(init, dtype="float32", shape="[4]"):
    """The array of an input with this `init`."""
    keys = {"name": '"x"', "kind": '"array"', "dtype": f'"{dtype}"', "shape": shape, "dir": '"in"', "init": f'"{init}"'}
    return read_launch_text(argument(**keys)).arguments["x"].array.array()


def test_every_key_of_a_launch_is_read():
    file = read_launch_text(
        dedent("""
        kernel = "gemm"
        name_expression = "gemm<128, 8>"
        grid = [2, 3]
        block = [16, 16, 1]
        shared_bytes = 1024
        max_dynamic_shared = 2048
        cluster = 2
        cooperative = true
        arch = "sm_90"
        options = ["-DTILE=16"]
        """)
    )
    (launch,) = file.launches
    assert launch.config == LaunchConfig(Dim3(2, 3), Dim3(16, 16), 1024, 2048, Dim3(2), True)
    assert (launch.kernel, launch.name_expression) == ("gemm", "gemm<128, 8>")
    assert (file.arch, file.options) == ("sm_90", ("-DTILE=16",))


def test_folders_of_the_compiler_count_from_the_file(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "launch.toml").write_text(HEAD + 'options = ["-Ione", "-lineinfo", "-I", "two"]')
    file = read_launch_file(tmp_path / "launch.toml")
    assert file.include_dirs == (tmp_path / "one", tmp_path / "two")
    assert file.options == ("-lineinfo",)


@pytest.mark.parametrize(
    "init, expected",
    [
        ("zeros", np.zeros(4, np.float32)),
        ("ones", np.ones(4, np.float32)),
        ("iota", np.arange(4, dtype=np.float32)),
        ("normal:7", np.random.default_rng(7).standard_normal(4).astype(np.float32)),
        ("uniform:7", np.random.default_rng(7).random(4).astype(np.float32)),
        ("randint:7:-3:9", np.random.default_rng(7).integers(-3, 9, 4).astype(np.float32)),
    ],
)
def test_init_is_a_recipe_that_numpy_repeats(init, expected):
    assert array(init).tobytes() == expected.tobytes()


def test_whole_numbers_are_drawn_in_their_own_dtype():
    expected = np.random.default_rng(7).integers(0, 256, 4, np.uint8)
    assert (array("randint:7:0:256", "uint8") == expected).all()


def test_poison_is_nan_or_minus_one():
    assert np.isnan(array("poison")).all()
    assert (array("poison", "int32") == -1).all()


def test_file_is_loaded_from_the_launch_files_folder(tmp_path):
    expected = np.arange(6, dtype=np.int16).reshape(2, 3)
    np.save(tmp_path / "x.npy", expected)
    text = argument(name='"x"', dtype='"int16"', shape="[2, 3]", dir='"in"', init='"file:x.npy"')
    found = read_launch_text(text, tmp_path).arguments["x"].array.array()
    assert found.dtype == np.int16 and (found == expected).all()


def test_value_fills_an_array_or_lists_its_elements():
    fill = read_launch_text(argument(name='"x"', dtype='"int32"', shape="[2, 2]", value="7"))
    rows = read_launch_text(argument(name='"x"', dtype='"int32"', shape="[2, 2]", value="[[1, 2], [3, 4]]"))
    assert fill.arguments["x"].array.array().tolist() == [[7, 7], [7, 7]]
    assert rows.arguments["x"].array.array().tolist() == [[1, 2], [3, 4]]


def test_scalar_has_the_dtype_it_names():
    value = read_launch_text(argument(name='"n"', kind='"scalar"', dtype='"int16"', value="3")).arguments["n"].value
    assert value == 3 and value.dtype == np.int16


def test_a_struct_is_laid_out_as_cpp_does():
    keys = {
        "name": '"p"',
        "kind": '"scalar"',
        "dtype": '["int8", "float64", "int32", "float32"]',
        "value": "[1, 2.5, 3, [4, 5]]",
    }
    value = read_launch_text(argument(**keys)).arguments["p"].value
    raw = value.tobytes()
    assert len(raw) == 32 and raw[0] == 1 and raw[8:16] == np.float64(2.5).tobytes()
    assert raw[16:28] == np.int32(3).tobytes() + np.float32([4, 5]).tobytes()


@pytest.mark.parametrize("value", ["[1]", "[1, 2.0, 3]", "1", "[1.5, 2.0]"])
def test_a_struct_has_a_value_for_each_member(value):
    with pytest.raises(LaunchFileError):
        read_launch_text(argument(name='"p"', kind='"scalar"', dtype='["int32", "float32"]', value=value))


def test_directions_are_kept():
    text = HEAD + "".join(
        f'[[args]]\nname = "{d}"\nkind = "array"\ndtype = "int8"\nshape = [1]\ndir = "{d}"\ninit = "ones"\n'
        for d in ("in", "out", "inout")
    )
    found = read_launch_text(text).arguments
    assert {name: spec.direction for name, spec in found.items()} == {
        "in": Direction.IN,
        "out": Direction.OUT,
        "inout": Direction.INOUT,
    }


def test_constants_are_float32_or_int32_unless_a_dtype_is_named():
    text = HEAD + '[constants]\na = [0.5, 1]\nb = 3\nc = { dtype = "float64", value = [1, 2] }\n'
    found = read_launch_text(text).constants
    assert {name: value.dtype.name for name, value in found.items()} == {"a": "float32", "b": "int32", "c": "float64"}


def test_launches_share_arguments_and_inherit_keys():
    file = read_launch_text(
        dedent("""
        block = 64
        [[args]]
        name = "x"
        dtype = "float32"
        shape = [64]
        init = "ones"
        [[args]]
        name = "y"
        dtype = "float32"
        shape = [64]
        dir = "out"
        [[launch]]
        kernel = "first"
        grid = 1
        [[launch]]
        kernel = "second"
        grid = 2
        block = 32
        args = ["y", { name = "n", kind = "scalar", dtype = "int32", value = 64 }]
        """)
    )
    first, second = file.launches
    assert (first.kernel, first.arguments, first.config.block.x) == ("first", ("x", "y"), 64)
    assert (second.kernel, second.arguments, second.config.block.x) == ("second", ("y", "n"), 32)


X = {"name": '"x"', "kind": '"array"', "dtype": '"float32"', "shape": "[4]", "dir": '"in"', "init": '"ones"'}


@pytest.mark.parametrize(
    "text, says, helps",
    [
        ("grid = \nblock = 1", "line 1", "key = value"),
        ("block = 32", "has no grid", "grid = 256"),
        ("grid = 1.5\nblock = 1", "grid = 1.5", "grid = 256"),
        ("grid = [1, 1, 1, 1]\nblock = 1", "one to three", "[16, 16]"),
        (HEAD + "sharedbytes = 4", "unknown key `sharedbytes`", "`shared_bytes`"),
        (HEAD + "cooperative = 1", "neither true nor false", "true"),
        (HEAD + 'options = "-DX"', "not a list", "options = ["),
        (HEAD + 'options = ["-Inowhere"]', "no folder nowhere", "launch file"),
        (HEAD + "launch = 3", "launch is not a table", "[[launch]]"),
        (HEAD + '[[launch]]\nargs = ["z"]', "no argument is called 'z'", "none"),
        (argument(kind='"array"'), "has no name", "name ="),
        (argument(**X | {"kind": '"matrix"'}), "kind = 'matrix'", "tensormap"),
        (argument(**X | {"dtype": '"flaot32"'}), "dtype = 'flaot32'", "float32"),
        (argument(**X | {"shape": "[0]"}), "shape = [0]", "shape = [64, 64]"),
        (argument(**X | {"dir": '"input"'}), "dir = 'input'", "inout"),
        (argument(**X | {"init": '"random"'}), "init = 'random'", "normal:SEED"),
        (argument(**X | {"init": '"normal:x"'}), "not whole numbers", "randint"),
        (argument(**X | {"init": '"randint:1:5:5"'}), "LOW must be less", "randint"),
        (argument(**X | {"dtype": '"int8"', "init": '"randint:1:0:300"'}), "does not fit int8", "wider"),
        (argument(**X | {"init": '"file:none.npy"'}), "no file none.npy", "folder"),
        (argument(**X | {"value": "1"}), "both init and value", "one of them"),
        (argument(name='"x"', dtype='"float32"', shape="[4]", dir='"in"'), "without values", "init"),
        (argument(name='"n"', kind='"scalar"', dtype='"int32"'), "has no value", "value = 1000"),
        (argument(name='"n"', kind='"scalar"', dtype='"int32"', value="1.5"), "has a fraction", "float"),
        (argument(name='"n"', kind='"scalar"', dtype='"int8"', value="300"), "does not fit int8", "wider"),
        (argument(name='"x"', dtype='"int32"', shape="[3]", value="[1, 2]"), "2 elements", "agree"),
        (HEAD + '[constants]\nc = "text"', "not made of numbers", ""),
    ],
)
def test_mistake_is_named_with_the_next_step(text, says, helps):
    with pytest.raises(LaunchFileError) as caught:
        read_launch_text(text)
    assert says in str(caught.value) and helps in caught.value.help


def test_argument_named_twice_is_refused():
    with pytest.raises(LaunchFileError, match="stands twice"):
        read_launch_text(argument(**X) + argument(**X).removeprefix(HEAD))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(LaunchFileError, match="No such file"):
        read_launch_file(tmp_path / "none.toml")
