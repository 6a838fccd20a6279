"""Where a library of an extra is missing, the tools name the extra; what they cannot know, they do not explain."""

from offline_tools.extras import missing_extra


def test_a_missing_library_names_its_extra() -> None:
    assert "make setup-training" in (missing_extra(ModuleNotFoundError(name="torch.nn")) or "")
    assert "hearsight[cluster]" in (missing_extra(ModuleNotFoundError(name="verl")) or "")
    assert missing_extra(ModuleNotFoundError(name="offline_tools.nothing")) is None
