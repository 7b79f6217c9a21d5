/** What stands behind the forwarding Workers: the same answer as theirs without an origin. */

export default {
  fetch: () => new Response("ok", { headers: { "Content-Type": "text/plain;charset=UTF-8", "Content-Length": "2" } }),
};
