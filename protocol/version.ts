import { version } from '../package.json';

/** The product's version, the one in package.json. */
export const productVersion: string = version;

/** Raised whenever an older client could misread an answer; the handshake compares it. */
export const protocolVersion = 1;
