/** Waiting for promises in a browser, where a turn of the event loop costs more than a whole decision. */

/**
 * How many promises in a row one event of a run settles at most. The longest chain today has under 20; a test compares
 * the outcome with that of whole turns.
 */
const HOPS = 40;

export async function settleByHops(): Promise<void> {
  for (let hop = 0; hop < HOPS; hop++) await undefined;
}
