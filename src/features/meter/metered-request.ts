/** A metered request: on its way to the model, its answer on the way back, and what is settled when that has ended. */

import type { Next } from "../../kernel/http/passage.ts";
import type { Reservation } from "../../kernel/limiter/reservation.ts";
import { type Held, longestOf, type Pipe } from "../slots/keep-slots.ts";
import { Account, type Units } from "./account.ts";
import { logDoubts, logUnread } from "./doubts.ts";
import type { Expected } from "./expected.ts";
import { type Cut, createCut } from "./llm/cut.ts";
import { type AnswerScanner, createAnswerScanner } from "./llm/scanner.ts";
import { pipeScanned } from "./pipe-scanned.ts";
import { canBePiped, readableRequest } from "./readable-request.ts";
import { type SettledAnswer, settledAnswer } from "./settled.ts";
import { Upload } from "./upload.ts";

/** Answers in JSON up to this many bytes are read at once, if they tell their length. */
const SHORT_ANSWER = 256 * 1024;

/** As what a request holds: its release settles, in the same call that gives slots back. */
export class MeteredRequest implements Held {
  readonly renew: Held["renew"];
  readonly renewEveryMs: Held["renewEveryMs"];
  readonly isShadow: Held["isShadow"];
  readonly sockets: Held["sockets"];
  /** Whether the answer was read at once. */
  isWhole = false;
  pipe: Pipe | undefined;
  readonly #expected: Expected;
  readonly #account: Account;
  readonly #leaving: AbortSignal;
  readonly #tell: (answer: SettledAnswer) => void;
  /** What was used. Absent: nothing, because no model has worked. */
  #used: (() => Units) | undefined;
  #scanner: AnswerScanner | undefined;

  /**
   * @param least see `Account`. @param leaving aborted when the client leaves. @param tell not called
   * if everything is given back.
   */
  constructor(
    reservation: Reservation,
    expected: Expected,
    least: Units | undefined,
    leaving: AbortSignal,
    tell: (answer: SettledAnswer) => void,
  ) {
    this.#expected = expected;
    this.#account = new Account(reservation, expected, least);
    this.#leaving = leaving;
    this.#tell = tell;
    const hold: Held | undefined = reservation.decision.hold;
    this.renew = hold?.renew;
    this.renewEveryMs = hold?.renewEveryMs;
    this.isShadow = hold?.isShadow;
    this.sockets = longestOf(hold);
  }

  /**
   * Lets `next` answer. The answer is read while it passes.
   *
   * @param request with a body that can be sent on. @param origin ends the request to the provider. @throws {SlowBody}
   */
  async answer(request: Request, origin: AbortSignal, next: Next): Promise<Response> {
    const account = this.#account;
    this.#used = () => account.reserved();
    const upload =
      this.#expected.isLonger && canBePiped(request) ? new Upload(request, (more) => account.charge(more)) : undefined;
    try {
      const response = await next(readableRequest(request, origin, upload));
      if (upload?.slow) {
        response.body?.cancel().catch(() => {});
        throw upload.slow;
      }
      if (response.ok) return await this.#read(response);
      this.#giveBack(origin);
      return response;
    } catch (error) {
      if (upload?.slow) this.#used = () => account.estimated(upload.usage());
      // A program may have given up because its client has left: its model may have worked.
      else if (!this.#leaving.aborted) this.#giveBack(origin);
      throw upload?.slow ?? error;
    }
  }

  /** No model has answered. If the provider was stopped, the reservation stays: nobody knows what was used. */
  #giveBack(origin: AbortSignal): void {
    if (origin.aborted) return;
    this.#used = undefined;
    // Slots are held until the error's body has ended, and go back in the same call.
    if (!this.renew) this.release();
  }

  /** Reads a short answer, or has another one read while it passes. */
  async #read(response: Response): Promise<Response> {
    const { body, headers } = response;
    const account = this.#account;
    if (!body || account.payers.length === 0) return response;
    // What the input is if the answer does not name it, each meter says for itself.
    const scanner = createAnswerScanner(headers, { inputTokens: Number.NaN });
    if (!scanner) {
      logUnread(account, headers);
      return response;
    }
    const prices = account.prices(scanner);
    // A client that left before the answer pays what was reserved: nothing was streamed to it.
    if (!this.#leaving.aborted) {
      this.#scanner = scanner;
      this.#used = () => account.used(scanner, prices);
    }
    if (isShort(headers) && !scanner.isStream) return await this.#readAtOnce(response, scanner);
    const cut = this.#cutBy(scanner);
    this.pipe = (body, writable, tooLong) =>
      pipeScanned(body, writable, scanner, cut, AbortSignal.any([this.#leaving, tooLong]));
    if (!cut) return response;
    // A stream that is cut has another length.
    const passing = new Response(body, response);
    passing.headers.delete("Content-Length");
    return passing;
  }

  /** What ends a stream when a limit refuses more of it. Absent: every stream may end. */
  #cutBy(scanner: AnswerScanner): Cut | undefined {
    const account = this.#account;
    const prices = account.prices(scanner, ({ meter }) => meter.onExceeded === "cut");
    return prices.size > 0 ? createCut(scanner, account.estimate().format, account.reservation, prices) : undefined;
  }

  async #readAtOnce(response: Response, scanner: AnswerScanner): Promise<Response> {
    try {
      const bytes = await response.arrayBuffer();
      scanner.push(new Uint8Array(bytes));
      scanner.end();
      this.isWhole = true;
      return new Response(bytes, response);
    } catch (error) {
      // The client sees that it breaks off.
      return new Response(new ReadableStream({ start: (controller) => controller.error(error) }), response);
    }
  }

  /** Settles. The first call counts. */
  release(): Promise<void> {
    const account = this.#account;
    const units = this.#used?.();
    if (units && account.payers.length > 0) {
      if (this.#scanner && !this.#leaving.aborted) logDoubts(account, this.#scanner);
      this.#tell(settledAnswer(account, units, this.#scanner));
    }
    return account.reservation.settle(units ?? account.nothing());
  }
}

function isShort(headers: Headers): boolean {
  const length = headers.get("Content-Length");
  return length !== null && Number(length) <= SHORT_ANSWER;
}
