"""Pictures as HTML: a picture for each group, which opens and closes, and a search field.

The page contains everything: SVG, a style, a few lines of script. It needs no server and no other files.
"""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING

from . import boxes
from .marks import FONT
from .words import counted

if TYPE_CHECKING:
    from .picture import Group, Picture

# So many boxes a page shows from the beginning, if opening groups makes that many.
_FEW = 60
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
.dualtape .box.here>rect{fill:#ffe3a3}
.dualtape .dim{opacity:.25}
.dualtape.fit svg{max-width:100%;height:auto}
"""
_SCRIPT = """
(root=>{
const field=root.querySelector('input'),told=root.querySelector('.told'),all=[...root.querySelectorAll('details')];
const boxes=[...root.querySelectorAll('.box:not(.outside)')];
let hits=[],at=0,before=null;
const show=step=>{
for(const box of hits)box.classList.remove('here');
if(!hits.length)return;
at=(at+step+hits.length)%hits.length;hits[at].classList.add('here');
told.textContent=(at+1)+' of '+hits.length;
hits[at].scrollIntoView({block:'center',inline:'center'})};
field.addEventListener('input',()=>{
const word=field.value.trim().toLowerCase();
if(word&&!before)before=all.map(d=>d.open);
if(!word&&before){all.forEach((d,k)=>d.open=before[k]);before=null}
for(const box of hits)box.classList.remove('here');
hits=word?boxes.filter(b=>b.dataset.words.toLowerCase().includes(word)):[];at=0;
const found=new Set(hits);
for(const box of boxes){box.classList.toggle('found',found.has(box));
box.classList.toggle('dim',!!word&&!found.has(box))}
for(const box of hits)for(let d=box.closest('details');d;d=d.parentElement.closest('details'))d.open=true;
told.textContent=word?'none found':'';show(0)});
field.addEventListener('keydown',event=>{if(event.key=='Enter')show(event.shiftKey?-1:1)});
for(const box of root.querySelectorAll('[data-group]'))box.addEventListener('click',()=>{
const here=box.closest('section');
for(const d of here.children)if(d.tagName=='DETAILS'&&d.dataset.name==box.dataset.group){d.open=!d.open;
if(d.open)d.scrollIntoView({block:'nearest'})}});
for(const button of root.querySelectorAll('button[data-open]'))button.addEventListener('click',()=>{
before=null;for(const d of all)d.open=button.dataset.open=='1'});
root.querySelector('button.fits').addEventListener('click',()=>root.classList.toggle('fit'))
})(document.getElementById('ID'))
"""


def page(picture: Picture) -> str:
    """Return a whole document."""
    title = escape(picture.title)
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    return f'{head}<body style="margin:16px">{embedded(picture)}</body></html>\n'


def embedded(picture: Picture) -> str:
    """Return a fragment of a document, as notebooks show it."""
    name = f"dualtape-{next(_ids)}"
    short = picture.short()
    bar = (
        f'<div class="bar"><b>{escape(picture.title)}</b> &nbsp; {picture.facts} &nbsp; '
        '<input type="search" placeholder="search: op, name, shape, line" title="Enter: the next one"> '
        '<span class="told"></span> <button data-open="1">open all</button> <button data-open="0">close all</button> '
        '<button class="fits">fit the width</button></div>'
    )
    script = f"<script>{_SCRIPT.replace('ID', name)}</script>"
    style = f"<style>{_STYLE.replace('FONT', FONT)}</style>"
    return f'<div class="dualtape" id="{name}">{style}{bar}{_section(short, (), _opened(short))}{script}</div>'


def _opened(picture: Picture) -> set[Group]:
    """Return the groups that are open initially: the outermost first, as many as remain legible."""
    shown = len(picture.closed())
    opened: set[Group] = set()
    waiting = list(picture.groups())
    for group in waiting:  # it grows
        boxes_inside = len(picture.closed(group))
        if shown + boxes_inside <= _FEW or len(picture.groups(group[:-1])) == 1:  # one alone would hide everything
            shown += boxes_inside
            opened.add(group)
            waiting += picture.groups(group)
    return opened


def _section(picture: Picture, path: Group, opened: set[Group]) -> str:
    """Return the contents of a group: a picture with its groups closed, followed by each of them."""
    view = picture.closed(path)
    view.title = ""  # the bar, or the summary above, has it
    parts = [f'<div class="view">{boxes.svg(view)}</div>']
    for group, count in picture.groups(path).items():
        summary = f"{escape(group[-1])} <small>({counted(count)})</small>"
        parts.append(
            f'<details data-name="{escape(group[-1])}"{" open" * (group in opened)}><summary>{summary}</summary>'
            f"{_section(picture, group, opened)}</details>"
        )
    return f"<section>{''.join(parts)}</section>"
