/** OPTIONS requests that are counted although they may be CORS preflights, which the gateway passes. */

import { isPreflight } from "../../../http/match.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import type { Carried } from "../log/entry.ts";
import type { Take } from "./policy-run.ts";

export class Preflights {
  /** Some log of several has no headers of CORS preflights. */
  readonly #lacksHeaders: boolean;
  #countedOptions = 0;
  #showsPreflights = false;

  constructor(carried: Carried) {
    this.#lacksHeaders = carried.lacks("preflights") !== undefined;
  }

  /** @param head of an OPTIONS request. @param takes the policies that count it. */
  count(head: RequestHead, takes: readonly Take[]): void {
    this.#showsPreflights ||= isPreflight(head);
    if (takes.some(passesPreflights)) this.#countedOptions++;
  }

  notes(): string[] {
    const options = this.#countedOptions;
    if (options === 0 || (!this.#lacksHeaders && this.#showsPreflights)) return [];
    const were = options === 1 ? "1 OPTIONS request was" : `${options} OPTIONS requests were`;
    return [`${were} counted; the gateway passes CORS preflights, which the log does not show`];
  }
}

/** A policy that names OPTIONS counts preflights, too. */
function passesPreflights({ run: { policy } }: Take): boolean {
  return !policy.match.method?.includes("OPTIONS");
}
