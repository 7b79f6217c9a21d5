/** Relays the messages of a WebSocket, as long as it is open: so it is known when it closes. */

/**
 * Bytes that one side is sent while it sends nothing itself. A Worker cannot wait until a side has read: what it has
 * not read yet stays in memory.
 */
const MOST_UNANSWERED = 4 * 1024 * 1024;
/** What a message counts at least, in bytes: one without content takes 190 bytes of memory (workerd, 2026-11). */
const LEAST_OF_MESSAGE = 64;

/** A client has its end of the socket as soon as the answer is sent. */
const TAKEN_WITHIN_MS = 20_000;

/** Both ends of a relay are closed by it, with the same code. */
const HALF_OPEN = { allowHalfOpen: true } as const;

/** Status codes of RFC 6455, section 7.4. */
const [NOT_STATED, UNEXPECTED, TRY_AGAIN_LATER] = [1005, 1011, 1013];

type Data = string | ArrayBuffer;

/** What is used of a WebSocket of Workers. Other runtimes have none, nor its types. */
interface WorkersSocket {
  binaryType: string;
  accept(options?: { readonly allowHalfOpen: boolean }): void;
  send(data: Data): void;
  close(code?: number, reason?: string): void;
  addEventListener(name: "message", listener: (event: { readonly data: Data }) => void): void;
  addEventListener(name: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  addEventListener(name: "error", listener: () => void): void;
}

interface Workers {
  readonly WebSocketPair: new () => { readonly 0: WorkersSocket; readonly 1: WorkersSocket };
}

/** The WebSocket of a handshake that has succeeded. */
export function socketOf(answer: Response): WorkersSocket | undefined {
  return (answer as { readonly webSocket?: WorkersSocket | null }).webSocket ?? undefined;
}

/** One of the two sockets of a relay. */
interface Side {
  readonly socket: WorkersSocket;
  /** Bytes that it was sent since it has sent something. */
  unanswered: number;
}

/**
 * @param answer a handshake that has succeeded. @param far its WebSocket. @param lost aborted when it must close: its
 * slots cannot be renewed any more. @param closed called once, when one side has closed or failed.
 * @returns the same handshake, whose messages pass through here.
 */
export function relay(
  answer: Response,
  far: WorkersSocket,
  lost: AbortSignal,
  closed: () => void,
  takenWithinMs = TAKEN_WITHIN_MS,
  mostUnanswered = MOST_UNANSWERED,
): Response {
  const { WebSocketPair } = globalThis as unknown as Workers;
  const { 0: client, 1: near } = new WebSocketPair();
  const sides = [far, near].map((socket): Side => ({ socket, unanswered: 0 }));
  const isUntaken = watchTaking(client);
  let isOpen = true;
  const timer = setTimeout(() => isUntaken() && close(UNEXPECTED), takenWithinMs);
  const close = (code: number, reason?: string) => {
    if (!isOpen) return;
    isOpen = false;
    clearTimeout(timer);
    for (const { socket } of sides) closeSocket(socket, code, reason);
    closed();
  };
  const giveUp = () => close(TRY_AGAIN_LATER, "open for longer than its slot can be renewed");

  const pass = (from: Side, to: Side) => {
    const { socket } = from;
    socket.addEventListener("message", ({ data }) => {
      if (!isOpen) return;
      from.unanswered = 0;
      to.unanswered += Math.max(LEAST_OF_MESSAGE, bytesOf(data));
      if (to.unanswered > mostUnanswered) close(TRY_AGAIN_LATER, "too much was sent that nobody has answered");
      else to.socket.send(data);
    });
    socket.addEventListener("close", ({ code, reason }) => close(code, reason));
    socket.addEventListener("error", () => close(UNEXPECTED));
    socket.binaryType = "arraybuffer";
    socket.accept(HALF_OPEN);
  };
  const [one, other] = sides as [Side, Side];
  pass(one, other);
  pass(other, one);
  if (lost.aborted) giveUp();
  lost.addEventListener("abort", giveUp);
  const { status, headers } = answer;
  return new Response(null, { status, headers, webSocket: client } as ResponseInit);
}

/**
 * The runtime answers a request that is no proper handshake, a POST for example, with an error of its own, and tells
 * nobody: both ends of such a relay would stay open. @returns whether nobody has taken this end since.
 */
function watchTaking(end: WorkersSocket): () => boolean {
  const { accept } = end;
  let isAccepted = false;
  // By a program in front, which reads the messages itself.
  end.accept = (options) => {
    isAccepted = true;
    accept.call(end, options);
  };
  return () => {
    if (isAccepted) return false;
    try {
      accept.call(end, HALF_OPEN);
      return true;
    } catch {
      // It was used in an answer.
      return false;
    }
  };
}

const encoder = new TextEncoder();

function bytesOf(data: Data): number {
  return typeof data === "string" ? encoder.encode(data).byteLength : data.byteLength;
}

/**
 * Some codes are never sent: 1006, for example, says that a connection was lost. A peer may also send a code that no
 * peer may send, or a reason that becomes too long as text. The other side must close all the same.
 */
function closeSocket(socket: WorkersSocket, code: number, reason: string | undefined): void {
  try {
    if (code === NOT_STATED) socket.close();
    else socket.close(code, reason);
  } catch {
    closeFailed(socket);
  }
}

/** A socket that has failed cannot be closed any more. */
function closeFailed(socket: WorkersSocket): void {
  try {
    socket.close(UNEXPECTED);
  } catch {}
}
