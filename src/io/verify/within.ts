/** The value of a promise, or `late` when it takes longer. The promise must not reject. */
export function within<T>(promise: Promise<T>, ms: number, late: T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(late), Math.max(0, ms));
    void promise.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}
