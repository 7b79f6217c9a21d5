// An origin that begins each answer at once, and ends it when the test says so.

import { type OriginServer, startOrigin } from "./origin-server.ts";

export interface HeldOrigin extends OriginServer {
  /** How many answers have begun and have not ended. */
  readonly inFlight: number;
  /** The highest number of answers in flight at the same time so far. */
  readonly peak: number;
  /** Ends all answers. */
  end(): void;
}

export async function startHeldOrigin(): Promise<HeldOrigin> {
  const open = new Set<() => void>();
  let peak = 0;
  const origin = await startOrigin((_request, response) => {
    const end = () => {
      open.delete(end);
      response.end("last");
    };
    open.add(end);
    peak = Math.max(peak, open.size);
    response.on("close", () => open.delete(end)).write("first");
  });
  return {
    ...origin,
    get inFlight() {
      return open.size;
    },
    get peak() {
      return peak;
    },
    end() {
      for (const end of [...open]) end();
    },
  };
}
