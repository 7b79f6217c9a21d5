// A free port that stays free until the test uses it again.

import { once } from "node:events";
import { createServer } from "node:net";

/** Whoever asks for any free port gets one from 32,768 on (Linux), or from 49,152 on (macOS, Windows). */
const [FIRST, COUNT] = [20_000, 10_000];

/** A port on 127.0.0.1 that no other test is given by chance. */
export async function lastingPort(): Promise<number> {
  for (let port = FIRST + (process.pid % COUNT); ; port++) if (await isFree(port)) return port;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
