// Next.js warns of each of these names in any file that its edge runtime imports, used or not.

import { expect, it } from "vitest";
import { bundled } from "../support/programs.ts";

/** `EDGE_UNSUPPORTED_NODE_APIS` in next/dist/shared/lib/constants.js of Next.js 15.5.29. */
const UNSUPPORTED = [
  ...["clearImmediate", "setImmediate", "BroadcastChannel", "ByteLengthQueuingStrategy", "CompressionStream"],
  ...["CountQueuingStrategy", "DecompressionStream", "DomException", "MessageChannel", "MessageEvent", "MessagePort"],
  ...["ReadableByteStreamController", "ReadableStreamBYOBRequest", "ReadableStreamDefaultController"],
  ...["TransformStreamDefaultController", "WritableStreamDefaultController"],
];

it("the library names nothing that the edge runtime of Next.js lacks", async () => {
  const program = `import * as all from "headgate"; console.log(all);`;
  const text = await bundled(program, { treeShaking: false, ignoreAnnotations: true });
  expect(UNSUPPORTED.filter((name) => new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
});
