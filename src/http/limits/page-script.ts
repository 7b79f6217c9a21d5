/** The page's script: what is left, and buttons that copy. Text is set as text content, never as markup. */

export const SCRIPT = `for(const p of document.querySelectorAll("pre"))if(navigator.clipboard){const b=document.createElement("button"),t=p.textContent;b.textContent="Copy";b.ariaLabel="Copy "+p.previousSibling.textContent;b.onclick=()=>navigator.clipboard.writeText(t).then(()=>b.textContent="Copied");p.before(b)}
const f=document.forms[0],l=document.getElementById("left"),e=document.getElementById("error"),set=(n,t)=>n.textContent==t||(n.textContent=t);let t,n=0;
const show=async()=>{clearTimeout(t);const mine=++n;let wait=5;if(!document.hidden)try{const r=await fetch("/.headgate/limits/me?"+new URLSearchParams(new FormData(f))),b=await r.json();if(mine!=n)return;
if(!r.ok){wait=+r.headers.get("Retry-After")||wait;throw b.detail}
while(l.children.length>b.limits.length)l.lastChild.remove();
b.limits.forEach((x,i)=>{let li=l.children[i];if(!li){li=document.createElement("li");li.append(...["span","small","meter"].map(n=>document.createElement(n)));li.children[1].ariaLive="off";l.append(li)}
const[s,w,m]=li.children,u={usd:n=>"$"+n.toLocaleString("en-US",{minimumFractionDigits:n%1?2:0,maximumFractionDigits:5}),tokens:n=>n.toLocaleString("en-US")}[x.unit]||String;set(s,x.id+": "+u(x.remaining)+" of "+u(x.quota)+(x.unit=="tokens"?" tokens":"")+" left");set(w,x.growsAfterMs?"more in "+Math.ceil(x.growsAfterMs/1e3)+" s":"");m.ariaLabel=x.id;m.max=x.quota;m.value=x.remaining});
set(e,b.limits.length?"":"No limit applies to this request.")}catch(x){set(e,String(x))}
t=setTimeout(show,wait*1e3)};
f.hidden=false;f.onsubmit=x=>{x.preventDefault();show()};f.onchange=document.onvisibilitychange=show;show()`;
