"""The gallery of the library and its page."""

from nacelle.report import gallery
from support.library import NAMES, library_robot


def test_the_gallery(tmp_path):
    first = gallery.write_gallery(tmp_path / "1", ["delta", "fivebar"])
    again = gallery.write_gallery(tmp_path / "2", ["delta", "fivebar"])
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    from matplotlib.image import imread

    assert imread(first[0]).shape[:2] == (592, 704)


def test_the_page_of_the_gallery_shows_the_library(request):
    page = request.config.rootpath / "docs" / "gallery.md"
    text = page.read_text(encoding="utf-8")
    maps = [(f"{name}-workspace-{'-'.join(over)}.png", name) for name, over in gallery.WORKSPACES]
    assert text == gallery.gallery_page([library_robot(name) for name in NAMES], "pictures", maps)
    pictures = list((page.parent / "pictures").glob("*.png"))
    assert {path.name for path in pictures} == {f"{name}.png" for name in NAMES} | {
        gallery.LUMPING,
        *(file for file, _ in maps),
        # On the page of natural frequencies, with the commands that draw them.
        "delta-flexible-mode.png",
        "delta-flexible-frequencies.png",
    }
    assert all(path.stat().st_size < 110_000 for path in pictures)


def test_the_command_writes_pictures_and_page(tmp_path, capsys):
    gallery.main([str(tmp_path / "p"), "--page", str(tmp_path / "page.md"), "--robot", "fivebar"])
    assert "1 pictures" in capsys.readouterr().out
    assert "![fivebar](p/fivebar.png)" in (tmp_path / "page.md").read_text(encoding="utf-8")
