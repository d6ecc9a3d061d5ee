// The streams of one browser: a browser opens at most six connections to a server over HTTP/1.1, so that a seventh tab with
// a stream of its own would wait for ever. Only some tabs have a stream; the others ask from time to time.

const STREAMS = 4;

/** Take a slot for a stream; its answer gives it back. Null: other tabs have all of them. */
export function takeSlot(number = 0): Promise<(() => void) | null> {
  if (!("locks" in navigator)) return Promise.resolve(() => {});
  if (number === STREAMS) return Promise.resolve(null);
  return new Promise((resolve) => {
    void navigator.locks.request(`seatunnel-stream-${number}`, { ifAvailable: true }, (lock) => {
      if (lock === null) {
        resolve(takeSlot(number + 1));
        return undefined;
      }
      return new Promise<void>((free) => resolve(free));
    });
  });
}
