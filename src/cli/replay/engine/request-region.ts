/** The region that answers a request: as it was recorded, or as the gateway finds it. */

import type { Settings } from "../../../config/settings.ts";
import { regionOf, UNKNOWN } from "../../../http/region.ts";
import type { RequestHead } from "../../../keys/request-head.ts";
import type { Carried, LogEntry } from "../log/entry.ts";

export class RequestRegion {
  readonly #settings: Settings;
  readonly #lacksContinents: boolean;
  #head: RequestHead | undefined;
  #recorded: string | undefined;
  /** Whether the last request is counted in `#unnamed`. */
  #isUnnamed = false;
  #unnamed = 0;

  constructor(settings: Settings, carried: Carried) {
    this.#settings = settings;
    this.#lacksContinents = carried.lacks("key continent") !== undefined;
  }

  /** From now on, this is the last request. */
  begin({ head, recorded }: LogEntry): void {
    this.#head = head;
    this.#recorded = recorded?.region;
    this.#isUnnamed = false;
  }

  /** The region that answers the last request. */
  readonly name = (): string => {
    if (this.#recorded !== undefined) return this.#recorded;
    const { region, regions } = this.#settings;
    const name = regionOf(this.#head!, region, regions);
    const isUnnamed = this.#lacksContinents && region === undefined && name === UNKNOWN;
    // The region of a request may be asked several times.
    if (isUnnamed && !this.#isUnnamed) this.#unnamed++;
    this.#isUnnamed = isUnnamed;
    return name;
  };

  notes(): string[] {
    if (this.#unnamed === 0) return [];
    return [`${this.#unnamed} requests had no region by REGIONS and count under ${UNKNOWN}`];
  }
}
