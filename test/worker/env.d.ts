// What tests inside workerd find around them.

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      mainModule: typeof import("../../src/worker.ts");
    }
  }
}

declare module "vitest" {
  // As in test/support/global-setup.ts, which runs in Node and is not part of this program.
  export interface ProvidedContext {
    redisUrl: string;
    restUrl: string;
    restToken: string;
  }
}

export {};
