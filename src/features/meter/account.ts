/** What a request to a model costs each policy: reserved, charged while the request passes, and settled. */

import type { Meter } from "../../kernel/core/policy.ts";
import type { Reservation } from "../../kernel/limiter/reservation.ts";
import type { Expected } from "./expected.ts";
import type { Estimate } from "./llm/estimate.ts";
import type { AnswerScanner } from "./llm/scanner.ts";
import { answeredUnits, estimatedUnits, type Prices, settledUnits } from "./llm/units.ts";
import type { Usage } from "./llm/usage.ts";

/** Units by the name of the policy. A policy that is not named keeps what it has reserved. */
export type Units = Readonly<Record<string, number>>;

/** A policy with a meter that was charged. */
interface Payer {
  readonly name: string;
  /** The policy that the request matched: the same, or one whose overflow it is. */
  readonly paidFor: string;
  readonly meter: Meter;
}

export class Account {
  readonly reservation: Reservation;
  readonly payers: readonly Payer[];
  readonly #expected: Expected;
  readonly #least: Units | undefined;
  /** What has passed of a long body and could not be charged, because a limit refused it. */
  #unpaid: Units;

  /** @param least if nobody can meter the request, what it costs whatever the answer. Other policies pay nothing. */
  constructor(reservation: Reservation, expected: Expected, least: Units | undefined) {
    this.reservation = reservation;
    this.#expected = expected;
    this.#least = least;
    this.payers = reservation.decision.policies.flatMap(({ policy: { name, meter }, became, paidFor = name }) =>
      meter && became === "charged" && (!least || least[name] !== undefined) ? { name, paidFor, meter } : [],
    );
    this.#unpaid = this.#unitsBy(() => 0);
  }

  get names(): string[] {
    return this.payers.map(({ name }) => name);
  }

  /** The estimate as the first of them counts images. Of all members, only the input tokens depend on that. */
  estimate(): Estimate {
    return this.#expected.estimate(this.payers[0]!.meter);
  }

  /** Charges what passes of a long body. Above the limit it is charged when the request is settled. */
  async charge(tokens: number): Promise<void> {
    const before = this.#unitsBy(({ meter }) => this.#expected.units(meter));
    this.#expected.addPassed(tokens);
    const more = this.#unitsBy(({ name, meter }) => this.#expected.units(meter) - before[name]!);
    const { allowed } = await this.reservation.extend(more);
    if (!allowed) this.#unpaid = this.#unitsBy(({ name }) => this.#unpaid[name]! + more[name]!);
  }

  /** What it costs if no model has answered. */
  nothing(): Units {
    return this.#atLeast(() => 0);
  }

  reserved(): Units {
    return this.#atLeast(({ name }) => this.reservation.reserved[name]! + this.#unpaid[name]!);
  }

  /** What a usage costs that no answer has stated. */
  estimated(usage: Usage): Units {
    return this.#atLeast(({ meter }) => estimatedUnits(meter, this.#expected.estimate(meter), usage));
  }

  /** What a usage costs by the model that has answered. An input that is not stated is each meter's own estimate. */
  prices(scanner: AnswerScanner, ofWhich: (payer: Payer) => boolean = () => true): Prices {
    const estimate = this.estimate();
    const priceOf = ({ name, meter }: Payer) => {
      const unitsOf = (usage: Usage) => {
        const { inputTokens } = Number.isNaN(usage.inputTokens) ? this.#expected.estimate(meter) : usage;
        return answeredUnits(meter, scanner.model(), estimate, { ...usage, inputTokens });
      };
      return [name, unitsOf] as const;
    };
    return new Map(this.payers.filter(ofWhich).map(priceOf));
  }

  /** What an answer has used, as far as it can be known. */
  used(scanner: AnswerScanner, prices: Prices): Units {
    const reserved = this.reserved();
    const settled = settledUnits(scanner, this.estimate(), this.reservation.reserved, prices);
    return this.#atLeast(({ name }) => settled[name] ?? reserved[name]!);
  }

  #atLeast(unitsOf: (payer: Payer) => number): Units {
    return this.#unitsBy((payer) => Math.max(this.#least?.[payer.name] ?? 0, unitsOf(payer)));
  }

  #unitsBy(unitsOf: (payer: Payer) => number): Units {
    return Object.fromEntries(this.payers.map((payer) => [payer.name, unitsOf(payer)]));
  }
}
