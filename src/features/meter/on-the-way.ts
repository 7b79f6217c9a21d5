/** `meter`: an estimate is reserved, and what the answer has used is settled. */

import { notRead } from "../../kernel/http/body.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import { Kept } from "../../kernel/http/passage.ts";
import { refusalWith } from "../../kernel/http/refusal.ts";
import { SlowBody } from "../../kernel/request/request-body.ts";
import { held, lingering } from "../slots/slots.ts";
import type { Units } from "./account.ts";
import { Expected, earlyUnits } from "./expected.ts";
import { errorBody } from "./llm/errors.ts";
import { formatOf } from "./llm/format.ts";
import { MeteredRequest } from "./metered-request.ts";
import type { OnSettled, SettledAnswer } from "./settled.ts";
import {
  flawOfBody,
  flawOfForm,
  flawOfHead,
  isFree,
  mayBeAnswered,
  refusalOf,
  refusesUnmetered,
  unmeteredUnits,
} from "./unmetered.ts";

/** What the body of a request lets expect. Absent: no policy of the request has a meter, or there is no body. */
const read = new Kept<Expected>();
/** The same of a request that has a cost under the policies that are asked. */
const priced = new Kept<Expected>();
const metered = new Kept<MeteredRequest>();
/** What the policies say that a request costs which nobody can meter. */
const leasts = new Kept<Units>();
/** Why nobody can meter a request. Absent: it can be metered, or costs nothing. */
const flaws = new Kept<string>();

/** @param listeners get what the answers of language models have used. */
export const meter = (listeners: readonly OnSettled[]): Feature => ({
  name: "meter",
  needs: ["body", "reserve", "slots", "unmetered", "providerErrors"],
  isUsed: (policies) => policies.some((policy) => policy.meter),
  body: {
    looksAt: ({ meter }) => meter !== undefined,
    early: (request, { meter }) => earlyUnits(request, meter!),
    read(passage, body) {
      const { request } = passage;
      const flaw = flawOfHead(request) ?? flawOfBody(request, body);
      flaws.set(passage, flaw);
      const isRead = flaw === undefined ? !isFree(request) : mayBeAnswered(request);
      // If it can't be metered, its length says nothing: only what the answer says can make it cost more.
      if (isRead) read.set(passage, new Expected(request, flaw === undefined ? body : { ...body, length: 0 }));
    },
  },
  around: (inner, _, way) => ({
    async enter(passage) {
      try {
        return await inner.enter(passage);
      } catch (error) {
        if (error instanceof SlowBody) return await notRead(passage, "slow", way);
        throw error;
      }
    },
    ask(passage, asked) {
      if (!asked.some(({ policy }) => policy.meter)) return inner.ask(passage, asked);
      const expected = read.of(passage);
      priced.set(passage, expected);
      if (expected) passage.isReserving = true;
      const isFlawed = flaws.of(passage) !== undefined;
      const least: Record<string, number> = {};
      let stated: number | undefined;
      const takes = asked.map((one) => {
        const { name, meter, isOverflow } = one.policy;
        if (!meter) return one;
        if (expected && !isFlawed) return { ...one, cost: expected.units(meter) };
        // A request that is not metered costs what its policy says, or the one whose overflow it is. Otherwise it only
        // looks.
        const ofHead = isOverflow ? stated : undefined;
        stated = isFlawed ? (unmeteredUnits(meter) ?? ofHead) : undefined;
        if (stated === undefined) return { ...one, cost: 0, onlyLooks: true };
        least[name] = stated;
        return { ...one, cost: stated };
      });
      leasts.set(passage, isFlawed ? least : undefined);
      return inner.ask(passage, takes);
    },
    pass(passage) {
      const { reservation, background } = passage;
      const expected = priced.of(passage);
      if (!expected) return inner.pass(passage);
      const tell = (answer: SettledAnswer) => {
        for (const listener of listeners) listener(answer, background);
      };
      const request = new MeteredRequest(reservation!, expected, leasts.of(passage), passage.leaving(), tell);
      metered.set(passage, request);
      held.set(passage, request);
      return inner.pass(passage);
    },
    async send(passage, outgoing) {
      const request = metered.of(passage);
      if (!request) return await inner.send(passage, outgoing);
      const unread = await passage.unread(outgoing);
      return await request.answer(unread, lingering.of(passage)!, (one) => inner.send(passage, one));
    },
  }),
});

/** Refuses what nobody can meter: when the body was read, and other features have left out policies by what it says. */
export const unmetered: Feature = {
  name: "unmetered",
  around: (inner, _, way) => ({
    async enter(passage) {
      const { request, matched } = passage;
      // Of a socket there is no body to read.
      if (request.body === null) flaws.set(passage, flawOfHead(request));
      const flaw = flaws.of(passage) ?? flawOfForm(request);
      const isRefused = flaw !== undefined && matched.some(({ policy }) => refusesUnmetered(policy));
      return isRefused ? await way.refuse(passage, refusalOf(flaw)) : await inner.enter(passage);
    },
  }),
};

/**
 * Where a policy of the request has a meter, also in shadow: as the providers write theirs. Their clients show the
 * message, and those of OpenAI and Anthropic obey the wait.
 */
export const providerErrors: Feature = {
  name: "providerErrors",
  around: (inner, options) => ({
    refuse(passage, reason) {
      const { request, matched } = passage;
      if (!matched.some(({ policy }) => policy.meter)) return inner.refuse(passage, reason);
      const { problem, retryAfterMs } = reason;
      const error = { status: problem.status, message: problem.detail, retryAfterMs };
      return refusalWith(request, reason, options, { body: errorBody(formatOf(request), error) });
    },
  }),
};
