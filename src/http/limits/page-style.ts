/** The page's style: system fonts, light and dark by the reader's choice, tables that become cards on a phone. */

export const STYLE = `:root{color-scheme:light dark;--t:light-dark(#1c2024,#e6e8eb);--m:light-dark(#5b636c,#a2abb5);--l:light-dark(#dfe3e7,#333a42);--s:light-dark(#f5f6f8,#1d2126);--a:light-dark(#0b5cad,#7db8f5)}
*{box-sizing:border-box}
body{font:1rem/1.6 system-ui,sans-serif;color:var(--t);background:light-dark(#fff,#14171a);max-width:60rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.2rem;margin:2.75rem 0 .75rem}
p,dd{max-width:44rem}
small,caption,dt+dd,.m{color:var(--m)}
a{color:var(--a)}
:focus-visible{outline:2px solid var(--a);outline-offset:2px}
code,pre{font:.875rem/1.6 ui-monospace,monospace;overflow-wrap:anywhere}
figure{margin:1rem 0}figcaption{color:var(--m);font-size:.875rem}
pre{margin:.25rem 0;background:var(--s);border:1px solid var(--l);border-radius:.5rem;padding:.75rem 1rem;overflow:auto;overflow-wrap:normal}
table{border-collapse:collapse;width:100%}
caption{text-align:left;padding-bottom:.5rem}
th,td{text-align:left;vertical-align:top;padding:.5rem .75rem .5rem 0;border-bottom:1px solid var(--l);font-weight:400}
tbody th{min-width:8rem}
thead th{color:var(--m);font-size:.875rem}
tbody th[colspan]{padding-top:1.5rem}
b{font-weight:600}
dt{margin-top:.75rem}
dd{margin:0}
form{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end}
label{display:grid;font-size:.875rem;color:var(--m)}
input,select,button{font:inherit;color:var(--t);background:var(--s);border:1px solid var(--l);border-radius:.375rem;padding:.375rem .625rem}
[name=path]{width:18rem;max-width:100%}
#left{list-style:none;padding:0}
#left li{display:grid;grid-template-columns:1fr auto;gap:0 1rem;padding:.5rem 0;border-bottom:1px solid var(--l)}
meter{grid-column:1/3;width:100%}
[hidden]{display:none}
@media(max-width:40rem){thead{position:absolute;clip-path:inset(50%)}table,caption,tbody,tr,th,td{display:block}td,tbody th{padding:.125rem 0;border:0}tr{padding:.5rem 0;border-bottom:1px solid var(--l)}#left li,#left small{display:block}td[data-of]:before{content:attr(data-of) " ";color:var(--m)}}`;
