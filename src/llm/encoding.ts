/** Whether a body is compressed: its text cannot be read. */
export function isEncoded(headers: Headers): boolean {
  return !/^(identity)?$/i.test(headers.get("Content-Encoding") ?? "");
}
