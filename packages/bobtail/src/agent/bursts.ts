/**
 * Recording in bursts, for services that are never meant to stop: for a short time in each period.
 *
 * Between bursts nothing is at work: what hooks into V8 or Node is taken out, what has to stay in
 * place finds no stream and passes on. A timer on the loop itself switches, because a boundary in
 * the middle of an event would cut it in two.
 */

import { setTimeout as plainSetTimeout } from 'node:timers';
import { addMechanisms, attempt } from './mechanisms';
import type { Mechanism } from './session';

/** Something that is at work only while the thread is being recorded. */
export interface Part {
  on(): void;
  off(): void;
}

/** When to record. */
export interface Bursts {
  everyMs: number;
  forMs: number;
}

/** The native probe's switch. */
interface Probe {
  pause(): void;
  resume(): readonly Mechanism[] | undefined;
}

const parts: Part[] = [];
let recording = true;

/** Puts a part to work, now and after each pause. */
export function whileRecording(part: Part): void {
  parts.push(part);
  part.on();
}

/** Whether the thread is being recorded at this moment. */
export function isRecording(): boolean {
  return recording;
}

/** Records from now for a while, and again in each period. */
export function startBursts({ everyMs, forMs }: Bursts, probe: Probe): void {
  const startMs = performance.now();
  const turn = (): void => {
    const phaseMs = (performance.now() - startMs) % everyMs;
    const wanted = phaseMs < forMs;
    if (wanted !== recording) attempt('bursts', () => setRecording(wanted, probe));
    const restMs = wanted ? forMs - phaseMs : everyMs - phaseMs;
    // Never early: a timer may fire a fraction of a millisecond before the period is over.
    plainSetTimeout(turn, Math.ceil(restMs)).unref();
  };
  turn();
}

/** What was granted to earlier bursts may be refused to this one. */
function ofLaterBurst({ name, ok, reason }: Mechanism): Mechanism {
  return ok ? { name, ok } : { name, ok, reason: `in a later burst: ${reason}` };
}

function setRecording(wanted: boolean, probe: Probe): void {
  recording = wanted;
  if (wanted) {
    addMechanisms((probe.resume() ?? []).map(ofLaterBurst));
    for (const part of parts) part.on();
  } else {
    for (const part of [...parts].reverse()) part.off();
    probe.pause();
  }
}
