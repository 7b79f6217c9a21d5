/** The live document of a configuration, as a replay reads it. */

import type { Settings } from "../../../config/settings.ts";
import type { LiveDocument } from "../../../limiter/live/document.ts";
import { type LiveView, viewOf } from "../../../limiter/live/view.ts";
import { partitionText } from "../../../partition/hash.ts";
import type { HashText } from "./hash.ts";

export function liveViewOf(
  { policies }: Settings,
  document: LiveDocument,
  isRecorded: boolean,
  hash: HashText,
): LiveView {
  // The partitions of recorded lines and those of the document are under one gateway's secret.
  const known = isRecorded ? document.secret : undefined;
  return viewOf(0, document, policies, known ?? hash(partitionText({ kind: "live", values: [] })));
}

export function liveNotes(view: LiveView | undefined): string[] {
  if (!view) return [];
  const other = "overrides of the live document were made under another key secret: their clients cannot be found";
  return [
    ...(view.hasOtherSecret ? [other] : []),
    ...view.unknown.first.map(({ path, reason }) => `the live document's ${path} does nothing: ${reason}`),
  ];
}
