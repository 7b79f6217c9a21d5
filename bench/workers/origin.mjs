/** The origin behind the forwarding Workers. Its answer equals that of the Workers without an origin. */

export default {
  fetch: () => new Response("ok", { headers: { "Content-Type": "text/plain;charset=UTF-8", "Content-Length": "2" } }),
};
