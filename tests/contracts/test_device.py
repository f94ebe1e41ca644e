"""What every device must do: the simulator, the simulator in a worker, the tests' fake, and on request a GPU."""

import numpy as np
import pytest

from grader.compile import compile_text
from grader.devices import Device, DeviceMissing, choose
from grader.model import Basis, Role, TimedKernel, TimingPair, TimingPlan
from grader.timing.tools import tools_for
from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from tests.grader.fake import FakeDevice

KERNELS = {
    "scale": """extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i];
    }""",
    "add_to": """extern "C" __global__ void add_to(double* y, const unsigned char* x, long long n) {
        long long i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] += x[i];
    }""",
    "half": """extern "C" __global__ void half(float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n / 2) y[i] = i;
    }""",
    "spoil": """extern "C" __global__ void spoil(float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { y[i] = x[i]; x[i] = 0.0f; }
    }""",
    "flip": """extern "C" __global__ void flip(const int* x, int* y, int rows, int cols) {
        extern __shared__ int tile[];
        int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
        int here = threadIdx.y * blockDim.x + threadIdx.x, last = blockDim.x * blockDim.y - 1;
        if (r < rows && c < cols) tile[here] = x[r * cols + c];
        __syncthreads();
        if (r < rows && c < cols) y[r * cols + c] = tile[last - here];
    }""",
    "past": """extern "C" __global__ void past(float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i <= n) y[i] = 1.0f;
    }""",
    "peek": """extern "C" __global__ void peek(const float* x, float* y, int offset) {
        y[threadIdx.x] = 1.0f + 0.0f * x[(int)threadIdx.x + offset];
    }""",
    "trap": 'extern "C" __global__ void trap(float* y, int n) { if (n) __trap(); y[0] = n; }',
}


def half_written(y, n):
    y = y.copy()
    y[: n // 2] = np.arange(n // 2)
    return {"y": y}


MEANINGS = {
    "scale": lambda x, y, a, n: {"y": a * x},
    "add_to": lambda y, x, n: {"y": y + x},
    "half": half_written,
    "spoil": lambda x, y, n: {"x": x * 0, "y": x},
    "flip": lambda x, y, rows, cols: {"y": x.ravel()[::-1].reshape(x.shape)},
}


class Fake(FakeDevice):
    """The fake with the meaning of the kernel that it is given."""

    def run(self, compiled, config, arguments, *rest, **named):
        self.compute = MEANINGS[compiled.kernel]
        return super().run(compiled, config, arguments, *rest, **named)


@pytest.fixture(scope="module", params=["fake", "simulator", "worker", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    from grader.worker.host import WorkerDevice

    makers = {
        "fake": lambda: Fake(None),
        "simulator": lambda: choose("simulator"),
        "worker": lambda: WorkerDevice("simulator"),
        "cuda": lambda: WorkerDevice("cuda"),
    }
    made = makers[request.param]()
    yield made
    made.close()


def build(device, kernel):
    return compile_text(KERNELS[kernel], kernel, device.arch)


def inputs(n=100):
    return np.random.default_rng(n).uniform(-1, 1, n).astype(np.float32)


def scale_arguments(x, a=2.0):
    return (
        Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros_like(x)),
        Argument("a", Direction.SCALAR, np.float32(a)), Argument("n", Direction.SCALAR, np.int32(x.size)),
    )  # fmt: skip


def real(device):
    """False for the fake, which knows no memory and no machine code."""
    return not isinstance(device, Fake)


def test_it_is_a_device(device):
    assert isinstance(device, Device)
    assert device.name and device.arch in device.capabilities and not device.spent


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1000])
def test_a_right_kernel_gives_its_outputs(device, n):
    x = inputs(n)
    result = device.run(build(device, "scale"), LaunchConfig(Dim3(-(-n // 64)), Dim3(64)), scale_arguments(x))
    assert result.status is Status.OK, result.diagnostics
    assert list(result.outputs) == ["y"] and np.array_equal(result.outputs["y"], 2 * x)
    assert result.blocks_run == -(-n // 64) and result.modified_inputs == ()


def test_arguments_are_not_changed_and_a_launch_repeats(device):
    x = inputs()
    arguments, before = scale_arguments(x), x.copy()
    compiled, config = build(device, "scale"), LaunchConfig(Dim3(2), Dim3(64))
    first, second = (device.run(compiled, config, arguments) for _ in range(2))
    assert np.array_equal(x, before) and not arguments[1].value.any()
    assert np.array_equal(first.outputs["y"], second.outputs["y"])


def test_what_goes_in_and_out_keeps_its_values_and_types(device):
    y, x = np.linspace(0, 1, 50), np.arange(50, dtype=np.uint8)
    arguments = (
        Argument("y", Direction.INOUT, y), Argument("x", Direction.IN, x),
        Argument("n", Direction.SCALAR, np.int64(50)),
    )  # fmt: skip
    result = device.run(build(device, "add_to"), LaunchConfig(Dim3(1), Dim3(64)), arguments)
    assert result.outputs["y"].dtype == np.float64 and np.array_equal(result.outputs["y"], y + x)


def test_an_output_starts_as_nan(device):
    arguments = (Argument("y", Direction.OUT, np.zeros(64, np.float32)), Argument("n", Direction.SCALAR, np.int32(64)))
    result = device.run(build(device, "half"), LaunchConfig(Dim3(1), Dim3(64)), arguments)
    assert np.isnan(result.outputs["y"][32:]).all()
    if real(device):
        assert "coverage.unwritten-output" in {finding.check for finding in result.diagnostics}


def test_a_changed_input_is_told(device):
    x = inputs()
    arguments = (
        Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros_like(x)),
        Argument("n", Direction.SCALAR, np.int32(100)),
    )  # fmt: skip
    result = device.run(build(device, "spoil"), LaunchConfig(Dim3(1), Dim3(128)), arguments)
    assert result.modified_inputs == ("x",) and not result.outputs["x"].any()


def test_two_dimensions_and_dynamic_shared_memory(device):
    x = np.arange(32, dtype=np.int32).reshape(4, 8)
    arguments = (
        Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros_like(x)),
        Argument("rows", Direction.SCALAR, np.int32(4)), Argument("cols", Direction.SCALAR, np.int32(8)),
    )  # fmt: skip
    result = device.run(build(device, "flip"), LaunchConfig(Dim3(1), Dim3(8, 4), 128), arguments)
    assert np.array_equal(result.outputs["y"], x.ravel()[::-1].reshape(4, 8))


def test_a_launch_that_cannot_start_is_refused_with_its_numbers(device):
    if real(device):
        result = device.run(build(device, "scale"), LaunchConfig(Dim3(1), Dim3(33, 33)), scale_arguments(inputs()))
        assert result.status is Status.REJECTED and result.blocks_run == 0
        assert "1089" in result.diagnostics[0].message


def test_a_strided_array_is_refused(device):
    if real(device):
        x = inputs(200)[::2]
        result = device.run(build(device, "scale"), LaunchConfig(Dim3(2), Dim3(64)), scale_arguments(x))
        assert result.status is Status.REJECTED
        assert result.diagnostics[0].check == "host.non-contiguous"


def test_a_write_past_the_end_is_found_and_hurts_nobody(device):
    if real(device):
        arguments = (
            Argument("y", Direction.OUT, np.zeros(64, np.float32)),
            Argument("n", Direction.SCALAR, np.int32(64)),
        )
        result = device.run(build(device, "past"), LaunchConfig(Dim3(2), Dim3(64)), arguments)
        assert result.status is Status.FINDINGS
        assert {finding.check for finding in result.diagnostics} == {"memcheck.global.write-oob"}
        assert (result.outputs["y"] == 1).all()


@pytest.mark.parametrize("offset", [64, -64, 200_000, -200_000])
def test_what_is_read_outside_a_buffer_is_nan(device, offset):
    """Times zero it is still NaN, so that no comparison passes; the guards are 2^20 bytes wide."""
    if real(device):
        x = inputs(64)
        arguments = (
            Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros_like(x)),
            Argument("offset", Direction.SCALAR, np.int32(offset)),
        )  # fmt: skip
        result = device.run(build(device, "peek"), LaunchConfig(Dim3(1), Dim3(64)), arguments)
        assert np.isnan(result.outputs["y"]).all()
        if "checks" in device.capabilities:
            assert "memcheck.global.read-oob" in {finding.check for finding in result.diagnostics}


def test_a_trap_ends_the_launch_and_the_next_one_runs(device):
    if real(device):
        arguments = (
            Argument("y", Direction.OUT, np.zeros(1, np.float32)),
            Argument("n", Direction.SCALAR, np.int32(1)),
        )
        result = device.run(build(device, "trap"), LaunchConfig(Dim3(1), Dim3(1)), arguments)
        assert result.status is Status.STOPPED and result.diagnostics[0].check == "runtime.trap"
        test_a_right_kernel_gives_its_outputs(device, 33)


def test_a_device_times_a_pair_or_says_that_it_cannot(device):
    x = inputs(1 << 16)
    arm = TimedKernel(build(device, "scale"), LaunchConfig(Dim3(256), Dim3(256)))
    trace = device.time(TimingPair(arm, arm, scale_arguments(x), ("x",), tools_for(device.arch)), TimingPlan(pairs=20))
    if "timing" in device.capabilities:
        assert trace.log_ratios.size == 20 and len(trace.floor_ns) == 3 and trace.findings == ()
        assert {launch.outputs["y"].shape for launch in trace.checked} == {x.shape}
    elif "estimates" in device.capabilities:
        assert trace.basis is Basis.ESTIMATED and trace.ratio == 1.0 and trace.student_ns > 1000
    else:
        assert trace is None


def test_roles_and_directions_are_the_same_words():
    assert {str(role) for role in Role} == {str(direction) for direction in Direction}


def test_an_unknown_device_names_the_near_one():
    with pytest.raises(DeviceMissing, match="did you mean simulator"):
        choose("simulater")
