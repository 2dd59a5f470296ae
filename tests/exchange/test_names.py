"""Names of other formats as names of descriptions."""

from nacelle.exchange.names import Names


def test_names_are_clean_and_given_once() -> None:
    names = Names()
    made = [names.new(name, "body") for name in ("left/arm", "left arm", "", "", "2nd", "base", "--")]
    assert made == ["left-arm", "left-arm-2", "body", "body-2", "n2nd", "base-2", "body-3"]
