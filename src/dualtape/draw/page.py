"""Pictures as HTML: a picture for each group, which opens and closes, and a field to search names with.

Everything is in the page: SVG, a style, a few lines of script. It needs no server, and nothing from elsewhere.
"""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING

from . import boxes
from .marks import FONT

if TYPE_CHECKING:
    from .picture import Group, Picture

_FEW = 60  # items of a page whose groups are open from the beginning
_ids = itertools.count()
_STYLE = """
.dualtape{font-family:FONT;color:#22303c;font-size:13px}
.dualtape .bar{position:sticky;top:0;background:#fff;padding:8px 0;border-bottom:1px solid #d5dbe1;z-index:1}
.dualtape input{font:inherit;padding:4px 8px;width:22em;border:1px solid #8a97a3;border-radius:5px}
.dualtape details{margin:6px 0 6px 14px;border-left:2px solid #d9cdef;padding-left:10px}
.dualtape summary{cursor:pointer;font-weight:bold;padding:3px 0}
.dualtape .view{overflow-x:auto}
.dualtape svg{max-width:none}
.dualtape [data-group]{cursor:pointer}
.dualtape .box.found>rect{stroke:#d3322b;stroke-width:3}
.dualtape .dim{opacity:.25}
"""
_SCRIPT = """
(root=>{
const field=root.querySelector('input'),told=root.querySelector('.told'),boxes=[...root.querySelectorAll('.box')];
field.addEventListener('input',()=>{
const word=field.value.trim().toLowerCase();let found=0;
for(const box of boxes){const hit=word&&box.textContent.toLowerCase().includes(word);
box.classList.toggle('found',!!hit);box.classList.toggle('dim',!!word&&!hit);
if(hit){found++;for(let d=box.closest('details');d;d=d.parentElement.closest('details'))d.open=true}}
told.textContent=word?found+' found':'';
const first=root.querySelector('.found');if(first)first.scrollIntoView({block:'center',inline:'center'})});
for(const box of root.querySelectorAll('[data-group]'))box.addEventListener('click',()=>{
const here=box.closest('section');
for(const d of here.children)if(d.tagName=='DETAILS'&&d.dataset.name==box.dataset.group){d.open=!d.open;
if(d.open)d.scrollIntoView({block:'nearest'})}});
for(const button of root.querySelectorAll('button'))button.addEventListener('click',()=>{
for(const d of root.querySelectorAll('details'))d.open=button.dataset.open=='1'})
})(document.getElementById('ID'))
"""


def page(picture: Picture) -> str:
    """A whole document."""
    title = escape(picture.title)
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    return f'{head}<body style="margin:16px">{embedded(picture)}</body></html>\n'


def embedded(picture: Picture) -> str:
    """A piece of a document, as notebooks show it."""
    name = f"dualtape-{next(_ids)}"
    short = picture.short()
    opened = " open" if len(short) <= _FEW else ""
    bar = (
        f'<div class="bar"><b>{escape(picture.title)}</b> &nbsp; {picture.facts} &nbsp; '
        '<input type="search" placeholder="search: op, name, shape, line"> <span class="told"></span> '
        '<button data-open="1">open all</button> <button data-open="0">close all</button></div>'
    )
    script = f"<script>{_SCRIPT.replace('ID', name)}</script>"
    style = f"<style>{_STYLE.replace('FONT', FONT)}</style>"
    return f'<div class="dualtape" id="{name}">{style}{bar}{_section(short, (), opened)}{script}</div>'


def _section(picture: Picture, path: Group, opened: str) -> str:
    """What is in a group: a picture with its groups closed, and below it each of them."""
    view = picture.closed(path)
    view.title = ""  # the bar, or the summary above, has it
    parts = [f'<div class="view">{boxes.svg(view)}</div>']
    for group, count in picture.groups(path).items():
        summary = f"{escape(group[-1])} <small>({count} nodes)</small>"
        parts.append(
            f'<details data-name="{escape(group[-1])}"{opened}><summary>{summary}</summary>'
            f"{_section(picture, group, opened)}</details>"
        )
    return f"<section>{''.join(parts)}</section>"
