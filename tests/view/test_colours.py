from nacelle.view.colours import ARROW_COLOURS, rgb_bytes
from nacelle.view.loads import KINDS


def test_colours_are_numbers_and_every_kind_of_load_has_its_own() -> None:
    assert rgb_bytes("#c4262e") == (196, 38, 46)
    assert set(ARROW_COLOURS) == set(KINDS)
    assert len({colour for pair in ARROW_COLOURS.values() for colour in pair}) == 4
