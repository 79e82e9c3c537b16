"""Examples of real recordings: numbers that a fit can take, whatever agents did."""

import numpy as np
import pytest
from msgspec.structs import replace

from holdfast.lab.fit.examples import gather_examples
from holdfast.lab.jobs import RecordingSources
from holdfast.packing.lines.features import LINE_FEATURES, NAME_FEATURES
from support.fit_recordings import ORDER
from support.recording_folder import recording_files


@pytest.mark.slow
@pytest.mark.parametrize("file", recording_files("c*.jsonl.gz"))
def test_examples_of_recordings_are_sound(file):
    gathered = gather_examples(replace(ORDER, budgets=(16_000,)), RecordingSources((file,), None, 3))
    assert gathered.examples
    for one in gathered.examples:
        for rows, features in ((one.lines, LINE_FEATURES), (one.names, NAME_FEATURES)):
            assert rows.values.shape == (len(rows), len(features))
            assert np.isfinite(rows.values).all()
            assert (rows.uses >= 0).all()
            assert (rows.sizes > 0).all()
            assert (rows.values[:, 0] == 1).all()
            assert np.all(np.diff(rows.folds) >= 0)
