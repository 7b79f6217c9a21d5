/** The page's style: system fonts, light and dark by the reader's choice, readable on a phone and on paper. */

export const STYLE = `:root{color-scheme:light dark;--t:light-dark(#1c2024,#e6e8eb);--m:light-dark(#5b636c,#a2abb5);--l:light-dark(#dfe3e7,#333a42);--p:light-dark(#fff,#14171a);--a:light-dark(#0b5cad,#7db8f5);--admitted:light-dark(#5b8fc7,#4d82bb);--refused:light-dark(#9c2a42,#f2899a)}
*{box-sizing:border-box}
body{font:1rem/1.6 system-ui,sans-serif;font-variant-numeric:tabular-nums;color:var(--t);background:var(--p);max-width:64rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:3rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--l);overflow-wrap:anywhere}
h3{font-size:1rem;margin:1.75rem 0 .25rem}
p,li{max-width:46rem;overflow-wrap:anywhere}
small,caption,figcaption,summary,.m{color:var(--m)}
b{font-weight:600}
:focus-visible{outline:2px solid var(--a);outline-offset:2px}
code{font:.875rem/1.6 ui-monospace,monospace;overflow-wrap:anywhere}
dl{display:flex;flex-wrap:wrap;gap:.75rem 2.5rem;margin:1.25rem 0}
dt{color:var(--m);font-size:.875rem}
dd{margin:0;font-size:1.5rem;line-height:1.3}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;max-width:46rem;margin:.5rem 0}
caption{text-align:left;padding-bottom:.5rem}
th,td{text-align:right;padding:.375rem 0 .375rem 1.5rem;border-bottom:1px solid var(--l);font-weight:400;white-space:nowrap}
th:first-child,td:first-child,.w{text-align:left}
th:first-child,td:first-child{padding-left:0}
thead th{color:var(--m);font-size:.875rem}
.w{white-space:normal;min-width:8rem}
figure{margin:1.25rem 0}
figcaption{font-size:.875rem}
summary{font-size:.875rem;cursor:pointer;width:max-content}
svg{display:block;overflow:visible}
svg text{font-size:.75rem;fill:var(--m)}
.chart{padding-left:3.25rem}
.grid{stroke:var(--l)}
.admitted{fill:var(--admitted)}
.refused{fill:var(--refused)}
.curve{fill:none;stroke:var(--admitted);stroke-width:2px;vector-effect:non-scaling-stroke}
.asked{fill:none;stroke:var(--refused);stroke-dasharray:4 4;vector-effect:non-scaling-stroke}
.present{stroke:var(--m);stroke-dasharray:2 3}
.candidate{fill:var(--admitted)}
.suggested{fill:var(--t);stroke:var(--t)}
.key{list-style:none;display:flex;flex-wrap:wrap;gap:0 1.5rem;padding:0;margin:.5rem 0;font-size:.875rem}
.key svg{display:inline-block;margin-right:.375rem}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:0 2.5rem}
@media print{:root{color-scheme:light}details{display:none}figure,tr,dl{break-inside:avoid}h2,h3{break-after:avoid}body{max-width:none;padding:0}}`;
