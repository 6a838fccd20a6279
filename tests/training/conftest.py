"""Tests of training warn about what torch and its libraries deprecate, and do not fail of it."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("default"), append=False)


@pytest.fixture(scope="session")
def cold_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the search task that copies what it found, and answers too soon; made once, in about 15 s."""
    from tests.training.search_model import save_cold_model

    return save_cold_model(tmp_path_factory.mktemp("cold"))
