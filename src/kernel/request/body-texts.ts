/**
 * What the bodies of requests say, as far as keys name it (src/features/body). It is noted before keys are read, so
 * that reading a key stays synchronous.
 */

import type { RequestHead } from "./request-head.ts";

/** Texts by the paths in policies. */
type BodyTexts = ReadonlyMap<string, string>;

const noted = new WeakMap<RequestHead, BodyTexts>();

export function noteBodyTexts(request: RequestHead, texts: BodyTexts): void {
  noted.set(request, texts);
}

export function bodyText(request: RequestHead, path: string): string | undefined {
  return noted.get(request)?.get(path);
}
