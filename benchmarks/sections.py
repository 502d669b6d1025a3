"""Reports of several machines in one file: an introduction, and a section under each device's name."""


def write_section(path, introduction, section):
    """Puts a section, which begins with '## NAME', in place of the one of that name, or behind the others."""
    title = section.splitlines()[0]
    old = path.read_text() if path.exists() else introduction
    head, *parts = old.split('\n## ')
    others = [f'## {part}'.rstrip('\n') for part in parts if f'## {part}'.splitlines()[0] != title]
    path.write_text('\n\n'.join([head.rstrip('\n'), *others, section.rstrip('\n')]) + '\n')
