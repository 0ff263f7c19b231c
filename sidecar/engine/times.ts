const second = 1000;

let now = Number.NaN;
let isoNow = '';
let digitsNow = '';

/** Most times that are told are in the same second, and to put one into words takes longer than all else about it. */
function enterSecond(ms: number): number {
  const rest = ms % second;
  if (ms - rest !== now) {
    now = ms - rest;
    isoNow = new Date(now).toISOString().slice(0, -4);
    digitsNow = `${now / second}`;
  }
  return rest;
}

const threeDigits = (number: number) => (number < 10 ? `00${number}` : number < 100 ? `0${number}` : `${number}`);

/** As Date's toISOString. */
export function isoTime(ms: number): string {
  const rest = enterSecond(ms);
  return `${isoNow}${threeDigits(rest)}Z`;
}

/** A time in milliseconds since 1970 as a number is written. */
export function digitsOf(ms: number): string {
  const rest = enterSecond(ms);
  return now === 0 ? `${rest}` : digitsNow + threeDigits(rest);
}
