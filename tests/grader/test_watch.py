"""Watching: a save is noticed once, after the file is whole."""

import os

from grader.watch import changes


class Clock:
    """Runs one prepared step at each pause, then stops the watching."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def __call__(self):
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()


def watched(paths, *steps):
    seen = []
    try:
        for changed in changes(lambda: paths, Clock(*steps)):
            seen.append([path.name for path in changed])
    except KeyboardInterrupt:
        pass
    return seen


def nothing():
    pass


def write(path, text):
    """A save with a time of its own, however coarse the file system's clock."""

    def step():
        path.write_text(text)
        os.utime(path, ns=(len(text) * 10**9, len(text) * 10**9))

    return step


def test_every_file_is_reported_at_the_start(tmp_path):
    for name in "ab":
        (tmp_path / name).touch()
    assert watched([tmp_path / "a", tmp_path / "b"]) == [["a", "b"]]


def test_save_is_reported_once(tmp_path):
    file = tmp_path / "a"
    file.write_text("1")
    assert watched([file], nothing, write(file, "22"), nothing, nothing, nothing) == [["a"], ["a"]]


def test_file_that_is_still_being_written_is_not_reported(tmp_path):
    file = tmp_path / "a"
    file.write_text("1")
    assert watched([file], write(file, "22"), write(file, "333")) == [["a"]]
    assert watched([file], write(file, "4444"), write(file, "55555"), nothing, nothing) == [["a"], ["a"]]


def test_file_that_vanishes_between_two_steps_of_a_save_is_no_error(tmp_path):
    file = tmp_path / "a"
    file.write_text("1")
    assert watched([file], file.unlink, write(file, "22"), nothing, nothing) == [["a"], ["a"]]


def test_new_file_in_the_folder_is_noticed(tmp_path):
    paths = [tmp_path / "a"]
    paths[0].touch()
    assert watched(paths, lambda: paths.append(tmp_path / "b"), write(tmp_path / "b", "1"), nothing, nothing) == [
        ["a"],
        ["b"],
    ]
