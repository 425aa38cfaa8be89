"""Files of lanes: what was written is read, mapped; fits that are dead leave nothing for ever."""

import os
import pickle
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from halfseen.runners import lane_files


def test_values_come_back_with_their_arrays_mapped(tmp_path):
    value = {"numbers": np.arange(5.0), "codes": np.array([[1, -1]], dtype=np.int8), "none": np.empty(0), "text": "a"}
    value["columns"] = np.arange(12.0).reshape(3, 4)[:, ::2]  # not contiguous
    lane_files.write(tmp_path / "1.lane", value)
    found = lane_files.read(tmp_path / "1.lane")
    assert found["text"] == "a"
    for name in ("numbers", "codes", "none", "columns"):
        assert_array_equal(found[name], value[name])
        assert found[name].dtype == value[name].dtype
    assert found["numbers"].ctypes.data % lane_files.ALIGNED == 0
    found["numbers"][0] = 7.0  # a private copy
    assert lane_files.read(tmp_path / "1.lane")["numbers"][0] == 0.0
    assert os.listdir(tmp_path) == ["1.lane"]


def test_a_file_cut_short_is_no_lane(tmp_path):
    path = tmp_path / "1.lane"
    lane_files.write(path, np.arange(1000.0))
    path.write_bytes(path.read_bytes()[:-80])
    with pytest.raises((ValueError, pickle.UnpicklingError)):
        lane_files.read(path)


def test_a_new_fit_removes_folders_of_dead_ones(tmp_path):
    dead, alive, other = (lane_files.folder_of(str(tmp_path), name) for name in ("dead", "alive", "other"))
    for folder in (dead, alive):
        lane_files.make_folder(folder)
        lane_files.write(folder / "0.lane", 1)
        os.utime(folder, (time.time() - lane_files.STALE - 60,) * 2)
    (tmp_path / "halfseen-of-others").mkdir()
    lane_files.in_use(alive)
    lane_files.make_folder(other)
    assert sorted(os.listdir(tmp_path)) == sorted(["halfseen-of-others", alive.name, other.name])
    lane_files.make_folder(other)  # once more


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_links_are_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    folder = lane_files.folder_of(str(tmp_path), "fit")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        lane_files.make_folder(folder)
