/**
 * Looks for the live document where it lay before: on another node, or under the key of an earlier version. What is
 * found moves to where it belongs.
 */

import { isStoreError, lateTextOf } from "../../store/failure.ts";
import type { LiveCopy, LiveStorage, LiveText } from "../../store/live.ts";
import { readLive } from "./document.ts";

/** What a search has found, for the log. */
export interface Searched {
  /** The document that is in force from now on. */
  readonly live: LiveText;
  /** Where it came from. Absent: it was not moved by this search. */
  readonly from?: string;
  /** Other documents, which are not in force. */
  readonly others: readonly { readonly place: string; readonly version: number }[];
}

/** Whether the storage has a document of its own: then nothing has to be searched. */
export function isHere({ version, text, moved }: LiveText): boolean {
  return !moved && (version > 0 || text !== undefined);
}

/**
 * Of several documents the one with the highest version is taken. The others, and the copy that it was taken from, stay
 * for isolates of the earlier deployment. They are marked: no later search takes them.
 *
 * @param here what the storage holds: nothing, or a document that has moved from here.
 * @throws {StoreError} if a place does not answer: the document may lie there.
 */
export async function searchElsewhere(storage: LiveStorage, here: LiveText): Promise<Searched> {
  const { elsewhere = [] } = storage;
  const copies = await Promise.all(elsewhere.map(async (copy) => ({ copy, live: await readCopy(copy) })));
  const found = copies.filter(({ live }) => live.text !== undefined);
  const place = ({ copy, live }: (typeof found)[number]) => ({ place: copy.place, version: live.version });
  const [best, ...others] = found.filter(({ live }) => !live.moved).sort(byWorth);
  if (!best) return { live: here, others: found.map(place) };
  const { text = "", version } = best.live;
  const moved = await storage.write(text, here.version, Math.max(1, version));
  // Another isolate was faster. It has searched too.
  if (moved === undefined) return { live: (await storage.read()) ?? here, others: [] };
  // The document is in its place: a copy without a mark matters only if the document is searched once more.
  await Promise.all([best, ...others].map(({ copy }) => copy.leave?.().catch(() => {})));
  return { live: { version: moved, text }, from: best.copy.place, others: others.map(place) };
}

const NOTHING: LiveText = { version: 0, text: undefined };

/** A late answer counts. A key of another type holds no document. */
async function readCopy(copy: LiveCopy): Promise<LiveText> {
  try {
    return (await copy.read()) ?? NOTHING;
  } catch (error) {
    if (isStoreError(error) && error.redisCode === "WRONGTYPE") return NOTHING;
    const late = await lateTextOf(error);
    if (late) return late;
    throw error;
  }
}

type Found = { readonly live: LiveText };

/** A text that is no document comes last. */
function byWorth(a: Found, b: Found): number {
  const isGood = ({ live }: Found) => Number(readLive(live.text ?? "") !== undefined);
  return isGood(b) - isGood(a) || b.live.version - a.live.version;
}
