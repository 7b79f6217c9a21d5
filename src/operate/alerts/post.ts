/** One try to deliver warnings to a webhook. */

import type { AlertTarget } from "../../kernel/config/alerts.ts";
import { VERSION } from "../../kernel/version.ts";

const TIMEOUT_MS = 5_000;

/**
 * @param id the same in each try: the webhook may have got an earlier one.
 * @returns why it has failed. Undefined: the webhook has it.
 */
export async function postWarnings(
  { url, secret }: AlertTarget,
  id: string,
  body: string,
  timeoutMs = TIMEOUT_MS,
): Promise<string | undefined> {
  try {
    const seconds = Math.floor(Date.now() / 1_000);
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "User-Agent": `headgate/${VERSION}`,
        "Headgate-Delivery": id,
        "Headgate-Signature": `t=${seconds},v1=${await signatureOf(secret, `${seconds}.${body}`)}`,
      },
      body,
      // Another address could be anybody's.
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    answer.body?.cancel().catch(() => {});
    return answer.ok ? undefined : `status ${answer.status}`;
  } catch (error) {
    // The text of the error may have the URL, which is a secret.
    return (error as Error).name === "TimeoutError" ? "no answer in time" : "no connection";
  }
}

/** HMAC-SHA-256 in hexadecimal digits. */
async function signatureOf(secret: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
