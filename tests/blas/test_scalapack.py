"""Block-cyclic GEMMs over MPI ranks, which make their local GEMMs through the drop-in BLAS."""
import re

import pytest

from conftest import BUILD, HERE

PSGEMM = BUILD / "examples" / "example_psgemm"
DEVICE_PER_RANK = HERE.parent.parent / "examples" / "scalapack" / "device-per-rank"
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1, "OPENBLAS_NUM_THREADS": 1,
       "OMPI_MCA_btl_base_warn_component_unused": 0, "OMPI_MCA_rmaps_base_oversubscribe": 1,
       "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # the last for Open MPI from 5 on


def psgemm(machine, ranks, *arguments, before=(), **environment):
    run = machine.run("mpirun", "-n", ranks, *before, BUILD / "rooftile", "run", "--", PSGEMM, *arguments, stderr=None,
                      **MPI, **environment)
    assert run.stdout.splitlines()[-1] == "right", run.stdout + run.stderr
    return run


@pytest.mark.parametrize("ranks,sizes", [(4, []), (4, [97, 61, 203, 16]), (3, [5, 3, 7, 64]), (1, [100, 1, 130, 32])])
def test_ranks_compute_on_the_host_where_nothing_is_tuned(untuned, ranks, sizes):
    psgemm(untuned, ranks, *sizes)


def test_local_products_of_every_rank_go_to_the_device(tuned):
    run = psgemm(tuned, 4, 300, 200, 250, 64, ROOFTILE_LOG="decisions")
    decided = [line for line in run.stderr.splitlines() if re.search(r"f32: device", line)]
    assert len(decided) >= 4, run.stderr


def test_each_rank_gets_a_device_of_its_own(tuned):
    run = psgemm(tuned, 2, 130, 70, 90, 32, before=[DEVICE_PER_RANK], ROOFTILE=BUILD / "rooftile", ROOFTILE_LOG="decisions")
    assert "f32: device" in run.stderr
    refused = tuned.run(DEVICE_PER_RANK, "true", code=2, stderr=None)
    assert "no local rank" in refused.stderr
    assert "mpirun -n 4" in tuned.run(DEVICE_PER_RANK, code=2, stderr=None).stderr
