/** What a program asks for: the bodies of `/.headgate/take` and `/.headgate/settle`, checked. */

import { isTable } from "../../kernel/config/bindings.ts";
import { describeValue } from "../../kernel/config/mistake.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";
import type { PolicyTake } from "../../kernel/limiter/types.ts";
import type { Used } from "./reservations.ts";

export const MAX_TAKES = 16;

export interface AskedTakes {
  readonly takes: readonly PolicyTake[];
  readonly does: "take" | "peek" | "reserve";
  readonly region?: string;
}

export interface AskedSettlement {
  readonly reservation: string;
  readonly used: Used;
}

/** A sentence about what is wrong. */
export interface Wrong {
  readonly wrong: string;
}

interface Member {
  readonly expected: string;
  is(value: unknown): boolean;
  /** The value may be a secret of a client. */
  readonly isHidden?: true;
}
type Members = Readonly<Record<string, Member>>;

const isText = (value: unknown) => typeof value === "string" && value !== "";
const isUnits = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_UNITS;
const UNITS = `an integer from 0 to ${MAX_UNITS}`;

const TEXT: Member = { expected: "a text of at least 1 character", is: isText };
const SWITCH: Member = { expected: "true or false", is: (value) => typeof value === "boolean" };

const TAKE: Members = {
  policy: TEXT,
  key: {
    expected: "a text, or a list with a text for each part of a combined kind",
    is: (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)),
    isHidden: true,
  },
  kind: TEXT,
  cost: { expected: UNITS, is: isUnits },
  plan: TEXT,
  once: { ...TEXT, isHidden: true },
};
const CALL: Members = { region: TEXT, peek: SWITCH, reserve: SWITCH };
const LIST: Members = {
  ...CALL,
  takes: {
    expected: `a list of 1 to ${MAX_TAKES} objects`,
    is: (value) => Array.isArray(value) && value.length > 0 && value.length <= MAX_TAKES,
  },
};
const SETTLEMENT: Members = {
  reservation: { ...TEXT, isHidden: true },
  used: {
    expected: `${UNITS}, or an object of such integers by the names of policies`,
    is: (value) => isUnits(value) || (isTable(value) && Object.values(value).every(isUnits)),
  },
};

/** The first mistake in the members of an object. */
function mistakeIn(body: unknown, members: Members, needed: readonly string[], path = ""): string | undefined {
  if (!isTable(body)) return `${path || "The body"}: expected an object, found ${describeValue(body)}.`;
  const at = path && `${path}.`;
  for (const [name, value] of Object.entries(body)) {
    const member = Object.hasOwn(members, name) ? members[name] : undefined;
    if (!member) return `${at}${name}: there is no such member. Expected ${Object.keys(members).join(", ")}.`;
    const found = member.isHidden ? "a value that is not shown" : describeValue(value);
    if (!member.is(value)) return `${at}${name}: expected ${member.expected}; found ${found}.`;
  }
  const missing = needed.find((name) => body[name] === undefined);
  return missing && `${at}${missing}: expected ${members[missing]!.expected}; found nothing.`;
}

export function readTakes(body: unknown): AskedTakes | Wrong {
  const isList = isTable(body) && body.takes !== undefined;
  const wrong = isList ? mistakeIn(body, LIST, ["takes"]) : mistakeIn(body, { ...TAKE, ...CALL }, ["policy"]);
  if (wrong) return { wrong };
  const { peek = false, reserve = false, region, ...rest } = body as Record<string, unknown>;
  const takes = (isList ? rest.takes : [rest]) as readonly unknown[];
  for (const [i, take] of isList ? takes.entries() : []) {
    const mistake = mistakeIn(take, TAKE, ["policy"], `takes[${i}]`);
    if (mistake) return { wrong: mistake };
  }
  const asked = takes as readonly PolicyTake[];
  if (peek && reserve) return { wrong: "peek: expected no peek beside reserve: a peek counts nothing." };
  if (reserve && asked.some(({ once }) => once !== undefined)) {
    return { wrong: "once: expected no once beside reserve: a repeat would have nothing to settle." };
  }
  const does = peek ? "peek" : reserve ? "reserve" : "take";
  return region === undefined ? { takes: asked, does } : { takes: asked, does, region: region as string };
}

export function readSettlement(body: unknown): AskedSettlement | Wrong {
  const wrong = mistakeIn(body, SETTLEMENT, ["reservation", "used"]);
  return wrong ? { wrong } : (body as unknown as AskedSettlement);
}
