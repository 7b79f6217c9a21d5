// What kind of key the console takes a text for that somebody looks up.

import { expect, it, vi } from "vitest";

vi.stubGlobal("location", { pathname: "/.headgate/console/" });
const { kindOf } = await import("../../console/src/data/lookup.ts");

it.each<[text: string, kinds: string[], found: string]>([
  ["192.0.2.1", ["bearer", "ip"], "ip"],
  ["192.0.2.1", ["ip/48", "ip"], "ip"],
  ["2001:db8::1", ["bearer", "ip/48"], "ip/48"],
  ["192.0.2.1", ["bearer", "header:x-user+ip/48", "ip4/24"], "ip4/24"],
  ["tok-7", ["ip/48", "ip4/24", "ip", "bearer"], "bearer"],
  ["tok-7", ["header:x-user+ip/48"], "header:x-user+ip/48"],
  ["192.0.2.1", ["query:ip/48", "bearer"], "query:ip/48"],
])("%s, of %j: %s", (text, kinds, found) => {
  expect(kindOf(text, kinds)).toBe(found);
});
