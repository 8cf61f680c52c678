//! How a page with pictures looks, beyond what all pages share.

// The colours of lines differ in lightness as much as in hue, and each has a dash besides; those of cells go from the
// page's colour to that of the mark, so that they follow light, dark and paper.
pub(crate) const STYLE: &str = "
:root{--c0:#1c1f24;--c1:#c2410c;--c2:#1f5fbf;--c3:#0f7a5a;--c4:#8b3fc0;--c5:#8a6100;--c6:#0e7490;--c7:#be185d;--heat:#b3260b;
--c8:color-mix(in oklab,var(--c0) 70%,var(--page));--c9:color-mix(in oklab,var(--c0) 50%,var(--page))}
@media (prefers-color-scheme:dark){:root{--c0:#e6e8ec;--c1:#ff9a5c;--c2:#7fb0ff;--c3:#5fd6a8;--c4:#cf9bff;--c5:#e0c050;
--c6:#5cc8e6;--c7:#ff8fc0;--heat:#ffb04a}}
@media print{:root{--c0:#000;--c1:#b03a08;--c2:#123f86;--c3:#0a5c43;--c4:#6a2a98;--c5:#6b4b00;--c6:#0a5566;--c7:#96124a;
--heat:#7a1500}}
header,main,nav{max-width:76rem}
header{padding-top:1.2rem}
.context{color:var(--soft);margin:0;font-size:.9rem;overflow-wrap:anywhere}
h1{margin:.2rem 0 .6rem;line-height:1.25;overflow-wrap:anywhere}
header .verdict{font-size:1.25rem;line-height:1.4;border-left:.3rem solid var(--mark);padding:.1rem 0 .1rem .9rem;margin:.6rem 0 1rem;
overflow-wrap:anywhere}
ul.verdict{list-style:none}ul.verdict li+li{margin-top:.4rem}
header .verdict.long{font-size:1rem;font-weight:400}
h3,caption,figcaption,.legend{overflow-wrap:anywhere}
ul.next{list-style:none;margin:.4rem 0 .8rem;padding:0;font-size:.92rem;overflow-wrap:anywhere}
.warnings,.blind{background:var(--panel);border:1px solid var(--line);border-radius:.4rem;padding:.5rem 1rem;margin:.8rem 0;
font-size:.92rem;overflow-wrap:anywhere}
.warnings{border-left:.3rem solid var(--ink)}
.warnings details,.blind details{margin:.2rem 0}
.warnings h2,.blind h2{font-size:1rem;margin:0;padding:0;border:0}.warnings ul,.blind ul{margin:.3rem 0;padding-left:1.2rem}
nav{position:sticky;top:0;background:var(--page);z-index:5;border-bottom:1px solid var(--line)}
nav ul{margin:0;padding:.5rem 0}
@media (max-width:40rem){nav{position:static}body{font-size:15px}h1{font-size:1.3rem}header .verdict{font-size:1.1rem}}
h2{scroll-margin-top:3.5rem}
main{outline:none}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.5rem 1rem;z-index:9;
border:2px solid var(--mark)}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.picture{position:relative}.picture figcaption{margin-bottom:.3rem}
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));gap:.5rem 1.5rem}
.gallery figure{margin:.5rem 0 1rem;min-width:0}
.drawing{position:relative;min-width:0;border-radius:.3rem;cursor:crosshair;touch-action:pan-y}
.drawing:focus-visible,.legend button:focus-visible,.wide:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--mark);
outline-offset:2px}
.drawing svg{background:none;overflow:visible}
.drawing svg text{font-size:12px}
.gridline{stroke:var(--line)}.frame{stroke:var(--soft);fill:none}
.slack{stroke:var(--soft);stroke-dasharray:2 4}
.drawing svg text.slackname{fill:var(--soft);font-size:11px}
.cursor{stroke:var(--soft);pointer-events:none}.dot{stroke:var(--page);stroke-width:1.5;pointer-events:none}
.cellmark{fill:none;stroke:var(--ink);stroke-width:1.5;pointer-events:none}
.legend{display:flex;flex-wrap:wrap;gap:.2rem .3rem;margin:.2rem 0 .4rem;padding:0;list-style:none;font-size:.88rem}
.legend button{font:inherit;color:inherit;background:none;border:1px solid transparent;border-radius:.3rem;padding:.15rem .5rem;cursor:pointer;
display:inline-flex;align-items:center;gap:.4rem;max-width:100%}
.legend button:hover{border-color:var(--line);background:var(--panel)}
.legend button[aria-pressed=false]{color:var(--soft);text-decoration:line-through;opacity:.7}
.legend svg{flex:none;width:28px;height:10px}
.steps{display:inline-flex;align-items:center;gap:.35rem;padding:.15rem .5rem}.steps i{width:1.1rem;height:.8rem;display:inline-block;
border:1px solid var(--line);print-color-adjust:exact;-webkit-print-color-adjust:exact}
.tip{position:absolute;z-index:4;pointer-events:none;background:var(--page);color:var(--ink);border:1px solid var(--soft);border-radius:.3rem;
padding:.35rem .6rem;font-size:.82rem;line-height:1.4;box-shadow:0 2px 8px var(--line);max-width:min(24rem,92%);font-variant-numeric:tabular-nums}
.tip b{display:block}.tip span{display:flex;gap:.4rem;align-items:center;overflow-wrap:anywhere}.tip i{flex:none;width:.7rem;height:.7rem;border-radius:50%}
details.values{font-size:.88rem}details.values .wide{max-height:24rem;overflow:auto}
footer{max-width:76rem;margin:2rem auto;padding:0 1rem;color:var(--soft);font-size:.85rem}
td{overflow-wrap:anywhere}td:not(.n){min-width:5.5rem}tbody th{min-width:7rem}
@media screen and (max-width:40rem){.wide>table{width:max-content;min-width:100%}.wide>table td,.wide>table th{max-width:15rem}
.wide>table>tbody th[scope=row]:first-child{position:sticky;left:0;background:var(--page);max-width:9rem;overflow-wrap:anywhere}
.wide>table>caption{max-width:calc(100vw - 2rem)}}
@media screen and (max-width:37.5rem){.wide>table.stacked{display:block;width:auto}
.stacked>caption,.stacked>tbody,.stacked>tbody>tr{display:block}.stacked>tbody>tr{border-bottom:1px solid var(--line);padding:.4rem 0}
.stacked>thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.wide>table.stacked>tbody>tr>td,.wide>table.stacked>tbody>tr>th{display:block;min-width:0;max-width:none;padding:.05rem 0;border:0;
text-align:left;white-space:normal}
.wide>table.stacked>tbody>tr>td:empty{display:none}
.wide>table.stacked>tbody>tr>th[scope=row]:first-child{position:static;max-width:none;font-weight:600}
.stacked td[data-label]::before{content:attr(data-label) \": \";content:attr(data-label) \": \" / \"\";color:var(--soft)}}
@media print{.warnings details::details-content,.blind details::details-content{content-visibility:visible;block-size:auto}
nav,.skip,.tip,details.values,.legend button[aria-pressed=false]{display:none}header .verdict{font-size:12pt}
.gallery{grid-template-columns:1fr 1fr}section{break-inside:auto}h2,h3{break-after:avoid}.wide{max-height:none}}
";
