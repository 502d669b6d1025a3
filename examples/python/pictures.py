"""Writes pictures as PNG files if Pillow is installed."""
import tenon


def write_image(path, image):
    """Writes a PNG completely or not at all."""
    part = path.with_name(f'.{path.name}.part')
    image.save(part, 'PNG')
    part.replace(path)


def pillow():
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        return None, None
    return Image, ImageDraw


def chart(path, curves, size=(640, 360)):
    """Draws lines of (x, y) points by name as a PNG; does nothing if Pillow is not installed."""
    image_type, draw_type = pillow()
    if image_type is None:
        return
    image = image_type.new('RGB', size, 'white')
    draw = draw_type.Draw(image)
    points = [point for curve in curves.values() for point in curve]
    (x0, x1), (y0, y1) = [(min(v), max(v)) for v in zip(*points)]
    left, right, top, bottom = 60, size[0] - 10, 24, size[1] - 24

    def place(x, y):
        return left + (x - x0) / ((x1 - x0) or 1) * (right - left), bottom - (y - y0) / ((y1 - y0) or 1) * (bottom - top)
    draw.rectangle((left, top, right, bottom), outline='gray')
    for i in range(5):
        y = y0 + (y1 - y0) * i / 4
        draw.text((4, place(x0, y)[1] - 6), f'{y:.4g}', 'black')
    draw.text((left, bottom + 6), f'{x0}', 'black')
    draw.text((right - 40, bottom + 6), f'{x1}', 'black')
    for i, (name, curve) in enumerate(curves.items()):
        colour = ('steelblue', 'darkorange', 'seagreen', 'crimson')[i % 4]
        draw.line([place(*point) for point in curve], fill=colour, width=2)
        draw.text((left + 8 + 120 * i, 6), name, colour)
    write_image(path, image)


def save_grid(path, images, columns, scale=2):
    """Writes images with values from 0 to 1, (N, 1 or 3, H, W), side by side as a PNG."""
    image_type, _ = pillow()
    if image_type is None:
        print(f'{path} is not written: pip install pillow')
        return
    images = images.detach().cpu().to(tenon.float32)
    n, c, h, w = images.shape
    rows = -(-n // columns)
    blank = tenon.zeros(rows * columns - n, c, h, w)
    sheet = tenon.concat([images, blank]).reshape(rows, columns, c, h, w).permute(0, 3, 1, 4, 2).reshape(rows * h, columns * w, c)
    pixels = (sheet.clamp(0, 1) * 255).round().to(tenon.uint8).contiguous().numpy()
    picture = image_type.fromarray(pixels[:, :, 0] if c == 1 else pixels)
    write_image(path, picture.resize((columns * w * scale, rows * h * scale), image_type.Resampling.NEAREST))
    print(f'wrote {path}')
