"""The results as a picture: bars side by side."""
from xml.sax.saxutils import escape

COLOURS = {"oarlock": "#2b6cb0", "oarlock, reusing": "#63b3ed", "kube-rs": "#c05621"}
PANELS = [("wall_s", "seconds, cold"), ("cpu_ms_per_object", "CPU ms per object"), ("full_mib", "RSS MiB with all objects")]
WIDTH, BAR, GAP = 300, 16, 14


def chart(rows):
    """An SVG with one panel per figure; the rows of one setting stand together."""
    settings = list(dict.fromkeys((r["variant"], r["objects"], r["workers"]) for r in rows))
    height = 70 + len(settings) * (3 * BAR + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{150 + len(PANELS) * WIDTH}" height="{height}" '
             'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for i, (name, colour) in enumerate(COLOURS.items()):
        parts.append(f'<rect x="{10 + i * 110}" y="10" width="11" height="11" fill="{colour}"/>'
                     f'<text x="{26 + i * 110}" y="20">{escape(name)}</text>')
    for panel, (key, title) in enumerate(PANELS):
        left = 140 + panel * WIDTH
        parts.append(f'<text x="{left}" y="46" font-weight="bold">{escape(title)}</text>')
        for i, setting in enumerate(settings):
            top = 58 + i * (3 * BAR + GAP)
            group = [r for r in rows if (r["variant"], r["objects"], r["workers"]) == setting]
            # Each setting has its own scale: what counts is the pair.
            most = max(r[key] for r in group) or 1
            if panel == 0:
                parts.append(f'<text x="10" y="{top + BAR}">{escape(setting[0])}, {setting[1]:,}</text>'
                             f'<text x="10" y="{top + 2 * BAR - 2}">{setting[2]} workers</text>')
            for j, row in enumerate(group):
                length, y = row[key] / most * (WIDTH - 80), top + j * BAR
                parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{COLOURS[row["controller"]]}"/>'
                             f'<text x="{left + length + 4:.1f}" y="{y + BAR - 5}">{row[key]:.3g}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"
