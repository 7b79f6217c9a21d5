/** The limits as a page for developers of clients. Only "What you have left" needs JavaScript. */

import { html, raw } from "hono/html";
import {
  COSTS,
  contactLink,
  curlCommands,
  describeRegion,
  FIELDS,
  INTRODUCTION,
  isRegional,
  type LimitsDocument,
  operatorSentences,
  paragraphsOf,
  planTable,
  sampleRequest,
  sentencesOn,
  together,
  whenRefused,
} from "./document.ts";

/** A piece of the page. What is put into one is escaped, unless it is a piece itself. */
type Html = ReturnType<typeof html>;

/** @param copy a copy that is published elsewhere: it cannot ask what is left, and contains its own security policy. */
export function renderPage(document: LimitsDocument, copy?: { csp: string }): string {
  const { region, regions, title, contact, before, after, operators } = document;
  const policies = regions[0]!.policies;
  const [, curl] = curlCommands(document);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
${copy && html`<meta http-equiv="Content-Security-Policy" content="${copy.csp}">`}
<title>${title && `${title}: `}Rate limits</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<header>
<h1>${title && `${title}: `}Rate limits</h1>
${paragraphsOf(before).map((paragraph) => html`<p>${paragraph}</p>`)}
<p>
${region && isRegional(document) && html`Your requests are counted in region <b>${describeRegion(region)}</b>.`}
${INTRODUCTION}
</p>
${contact && html`<p>Questions? Ask <a href="${contactLink(contact)}">${contact}</a>.</p>`}
</header>
<main>
${!copy && leftForm(sampleRequest(document))}
<h2>Limits</h2>
${policies.length > 0 ? limitsTable(document) : html`<p>No limits are published.</p>`}
${plans(document)}
${costs(document)}
${headerFields(document)}
<h2>When you are refused</h2>
<p>
${whenRefused(document)
  .split("`")
  .map((text, at) => (at % 2 === 0 ? text : html`<code>${text}</code>`))}
</p>
${sentencesOn("whenRefused", document).map(({ name, sentence }) => html`<p>Under <b>${name}</b> ${sentence}.</p>`)}
${policies.length > 0 && html`<p>curl waits as long as <code>Retry-After</code> says: <code>${curl}</code></p>`}
${paragraphsOf(after).map((paragraph) => html`<p>${paragraph}</p>`)}
${operators && forOperators(operators)}
</main>
${!copy && html`<script>${raw(SCRIPT)}</script>`}
</body>
</html>`;
  return String(page);
}

function limitsTable(document: LimitsDocument): Html {
  const { central, regions } = document;
  const regional = isRegional(document);
  const columns = regional ? regions.map(({ name }) => describeRegion(name)) : ["Quota"];
  const next = sentencesOn("next", document);
  const rows = regions[0]!.policies.map(({ name, requests, countedPer, limits }) => {
    const own = next.filter((one) => one.name === name).map(({ sentence }) => `; ${sentence}`);
    const per = `per ${countedPer}${own.join("")}`;
    const title = html`<code>${requests}</code> <small>${per}</small>`;
    return html`<tbody>
<tr><th colspan="${columns.length + 2}" scope="rowgroup">${title}</th></tr>
${limits.map(({ id, scope, description, promise }) => {
  const label = columns.length > 1 && central && html` data-of="all regions"`;
  const where = regional && central && html` <small>${together(columns)}</small>`;
  const cells =
    scope === "region"
      ? columns.map((name) => html`<td data-of="${name}">${description}</td>`)
      : html`<td${label} colspan="${columns.length}">${description}${where}</td>`;
  return html`<tr><th scope="row"><b>${id}</b></th>${cells}<td class="m">${promise}</td></tr>`;
})}
</tbody>`;
  });
  const caption = `By the name that headers and refusals use${regional ? ", and by region" : ""}`;
  return table(caption, ["Limit", ...columns, "How it comes back"], rows);
}

function plans(document: LimitsDocument): Html | undefined {
  const found = planTable(document);
  if (!found) return undefined;
  const { columns, rows } = found;
  const body = html`<tbody>
${rows.map(({ id, cells }) => {
  const texts = cells.map((cell, c) => html`<td data-of="${columns[c]}">${cell}</td>`);
  return html`<tr><th scope="row"><b>${id}</b></th>${texts}</tr>`;
})}
</tbody>`;
  return html`<h2>Plans</h2>
${table("The same limits for clients on a plan", ["Limit", ...columns], body)}`;
}

function costs(document: LimitsDocument): Html | undefined {
  const { policies } = document.regions[0]!;
  const rules = policies.flatMap(({ name, cost }) => cost.map((rule) => ({ name, ...rule })));
  const sentences = sentencesOn("costs", document);
  if (rules.length + sentences.length === 0) return undefined;
  const rows = rules.map(
    ({ name, requests, cost }) => html`<tr>
<th scope="row"><code>${requests}</code></th><td data-of="under">${name}</td><td data-of="units">${cost}</td>
</tr>`,
  );
  const body = html`<tbody>${rows}</tbody>`;
  return html`<h2>Costs</h2>
${rules.length > 0 && html`<p>${COSTS}</p>`}
${sentences.map(({ name, sentence }) => html`<p>Under <b>${name}</b> ${sentence}.</p>`)}
${rules.length > 0 && table("Requests with a cost of their own", ["Request", "Under", "Units"], body)}`;
}

function headerFields(document: LimitsDocument): Html | undefined {
  const { headers } = document;
  const fields = Object.entries(headers);
  if (fields.length === 0) return undefined;
  const shown = FIELDS.filter(([, field]) => field in headers);
  return html`<h2>Response headers</h2>
<figure>
<figcaption>After <code>${curlCommands(document)[0]}</code></figcaption>
<pre tabindex="0">${fields.map((field) => field.join(": ")).join("\n")}</pre>
</figure>
<dl>
${shown.map(([name, , meaning]) => html`<dt><code>${name}</code></dt><dd>${meaning}</dd>`)}
</dl>`;
}

function forOperators(operators: NonNullable<LimitsDocument["operators"]>): Html {
  const each = operators.map(
    (policy) => html`<dt><b>${policy.name}</b></dt>
<dd>${operatorSentences(policy).join(" ")}</dd>`,
  );
  return html`<h2>For operators</h2>
<p>This part helps clients to get around your limits. Don't publish it.</p>
<dl>${each}</dl>`;
}

function table(caption: string, columns: readonly string[], body: Html | readonly Html[]): Html {
  return html`<table>
<caption>${caption}</caption>
<thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
${body}
</table>`;
}

function leftForm({ method, path }: { readonly method: string; readonly path: string }): Html {
  return html`<h2>What you have left</h2>
<form hidden>
<label>Method <input name="method" value="${method}" size="8"></label>
<label>Path <input name="path" value="${path}"></label>
<button type="submit">Check</button>
</form>
<ul id="left" aria-live="polite"></ul>
<p id="error" role="status">This part needs JavaScript; everything else does not.</p>`;
}

/** System fonts, light and dark by the reader's choice, tables that become cards on a phone. */
const STYLE = `:root{color-scheme:light dark;--t:light-dark(#1c2024,#e6e8eb);--m:light-dark(#5b636c,#a2abb5);--l:light-dark(#dfe3e7,#333a42);--s:light-dark(#f5f6f8,#1d2126);--a:light-dark(#0b5cad,#7db8f5)}
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

/** What is left. Text is set as text content, never as markup. */
const SCRIPT = `const f=document.forms[0],l=document.getElementById("left"),e=document.getElementById("error"),set=(n,t)=>n.textContent==t||(n.textContent=t);let t,n=0;
const show=async()=>{clearTimeout(t);const mine=++n;let wait=5;if(!document.hidden)try{const r=await fetch("/.headgate/limits/me?"+new URLSearchParams(new FormData(f))),b=await r.json();if(mine!=n)return;
if(!r.ok){wait=+r.headers.get("Retry-After")||wait;throw b.detail}
while(l.children.length>b.limits.length)l.lastChild.remove();
b.limits.forEach((x,i)=>{let li=l.children[i];if(!li){li=document.createElement("li");li.append(...["span","small","meter"].map(n=>document.createElement(n)));li.children[1].ariaLive="off";l.append(li)}
const[s,w,m]=li.children,u={usd:n=>"$"+n.toLocaleString("en-US",{minimumFractionDigits:n%1?2:0,maximumFractionDigits:5}),tokens:n=>n.toLocaleString("en-US")}[x.unit]||String,q=u(x.quota)+(x.unit=="tokens"?" tokens":""),g=x.growsAfterMs,d=g>864e5;
set(s,x.id+": "+u(x.remaining)+" of "+q+" left"+(x.used?", "+u(x.used)+" spent or reserved":""));
set(w,x.used&&g>6e4&&g==x.resetAfterMs?"resets "+(d?"on ":"at ")+new Date(Math.round((Date.now()+g)/6e4)*6e4).toLocaleString([],{...d&&{day:"numeric",month:"long"},hour:"2-digit",minute:"2-digit",timeZoneName:"short"}):d?"more on "+new Date(Date.now()+g).toLocaleString([],{dateStyle:"medium",timeStyle:"short"}):g?"more in "+Math.ceil(g/1e3)+" s":"");m.ariaLabel=x.id;m.max=x.quota;m.value=x.remaining});
set(e,b.limits.length?"":"No limit applies to this request.")}catch(x){set(e,String(x))}
t=setTimeout(show,wait*1e3)};
f.hidden=false;f.onsubmit=x=>{x.preventDefault();show()};f.onchange=document.onvisibilitychange=show;show()`;

/** Allows the page its own style and script, by their hashes, and requests to its own host. */
export async function contentSecurityPolicy(copy = false): Promise<string> {
  const [style, script] = await Promise.all([STYLE, SCRIPT].map(async (text) => `'sha256-${await digest(text)}'`));
  const live = copy ? "" : `;script-src ${script};connect-src 'self';frame-ancestors 'none'`;
  return `default-src 'none';style-src ${style};img-src data:;base-uri 'none';form-action 'none'${live}`;
}

/** SHA-256, in base64. */
export async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(hash)));
}
