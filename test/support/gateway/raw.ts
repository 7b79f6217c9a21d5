// Requests as a test writes them: fetch adds and forbids header fields, tidies paths up, and decodes answers.

import { once } from "node:events";
import { type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  /** A list of values becomes one header line for each value. */
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

/** Sends a request. @returns when its answer has begun: with its bytes, if they do not break off. */
export async function sendRaw({ url }: { readonly url: URL }, { body, headers = {}, ...asked }: RawRequest = {}) {
  const outgoing = request(url, { ...asked, headers });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: response.statusCode!, headers: response.headers, body: buffer(response) };
}

/**
 * Sends the beginning of a request from a socket that the test can reset. workerd notices a reset (RST). It does not
 * notice a client that only closes its side (FIN) until it writes to that client.
 *
 * @param head the first line, and header fields but `Host`.
 */
export function openRaw({ url }: { readonly url: URL }, head: string, body: string | Uint8Array = ""): Socket {
  const client = connect(Number(url.port), url.hostname);
  client.on("error", () => {});
  client.write(`${head}\r\nHost: ${url.host}\r\n\r\n`);
  client.write(body);
  return client;
}
