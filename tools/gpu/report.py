"""Writes a page with the results of hour.py."""

MARKS = {'ok': 'ok', 'failed': '**failed**', 'too long': '**too long**', 'cut off': '**cut off**', 'absent': 'not there'}
STAGES = {'A': 'What is there, and who computes', 'B': 'Correctness', 'C': 'Speed', 'D': 'Vulkan'}


def page(data):
    kind = 'A rehearsal on small operands: it shows that the steps work, and no speed.' if data.get('rehearsal') else ''
    where = 'simulator' if data['device'].startswith('gpusim') else name_of(data)
    lines = [f'# {data["device"]} ({where})', '', f'{data["machine"]}, Python {data["python"]}. {kind}'.strip(), '']
    for stage, title in STAGES.items():
        steps = {name: step for name, step in data['steps'].items() if step['stage'] == stage}
        if steps:
            lines += [f'## {title}', '', '| step | what | | s | found |', '|---|---|---|---|---|']
            lines += [row(name, step, name_of(data)) for name, step in steps.items()] + ['']
            for name, step in steps.items():
                lines += detail(name, step)
    return '\n'.join(lines).rstrip() + '\n'


def name_of(data):
    devices = data['steps'].get('machine', {}).get('result', {}).get('devices', [])
    return next((d['name'] for d in devices if d.get('device') == data['device']), 'unknown')


def row(name, step, card):
    other = '' if step.get('card', card) == card else f' (on {step["card"]})'
    return f'| {name} | {step["about"]} | {MARKS[step["state"]]} | {step["seconds"]:.0f} | {brief(step.get("result"))}{other} |'


def brief(result):
    if isinstance(result, dict) and 'cases' in result:
        return f'{result["cases"]} cases, {result["failed"]} failed'
    if isinstance(result, dict) and 'brief' in result:
        return result['brief']
    return ''


def detail(name, step):
    shown = shown_of(step.get('result'))
    if not shown and step['state'] in ('failed', 'too long', 'cut off'):
        shown = ['```text', *step['tail'].strip().splitlines()[-25:], '```']
    return [f'### {name}', '', *shown, ''] if shown else []


def shown_of(result):
    if isinstance(result, str):
        return [result] if result.strip() else []
    if isinstance(result, dict) and result.get('failures'):
        return [f'- `{one["repeat"] or one["case"]}`: {" ".join(one["text"].split())[:300]}' for one in result['failures']]
    return table(result['table']) if isinstance(result, dict) and result.get('table') else []


def table(rows):
    head, *rest = rows
    return ['| ' + ' | '.join(map(str, one)) + ' |' for one in [head, ['---'] * len(head), *rest]]
