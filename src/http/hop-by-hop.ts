/** Fields that belong to the connection between client and gateway (RFC 9110, section 7.6.1). */

/** Fields in which Cloudflare names the client. Naming them in `Connection` must not hide them from the origin. */
const SAYS_WHO = /^(cf-|x-forwarded-|forwarded$|true-client-ip$|x-real-ip$)/i;
/** Options of the connection itself, not names of fields. `Upgrade` asks for a WebSocket. */
const OPTION = /^(close|keep-alive|upgrade)$/i;

/**
 * Removes the fields that the client's `Connection` names, and these names. It comes first: whoever reads the request
 * afterwards sees what the origin gets, and a client cannot remove fields that are set here later.
 */
export function withoutNamedFields(request: Request): Request {
  const names = (request.headers.get("Connection") ?? "").split(",").map((name) => name.trim());
  const named = names.filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !OPTION.test(name));
  if (named.length === 0) return request;
  const cleaned = new Request(request, { signal: request.signal });
  for (const name of named) if (!SAYS_WHO.test(name)) cleaned.headers.delete(name);
  cleaned.headers.delete("Connection");
  const options = names.filter((name) => OPTION.test(name));
  if (options.length > 0) cleaned.headers.set("Connection", options.join(", "));
  return cleaned;
}
