// A page of 'rate pack': the study is in this file, and the answers stay in this browser until the rater deletes them.

import { save } from "../../viewer/page/core.js";

const embedded = (/** @type {string} */ id) =>
  /** @type {HTMLElement} */ (document.getElementById(id)).textContent ?? "";
/** @type {RatingPack} */
const pack = JSON.parse(embedded("pack"));
const place = `vmmetrics rate ${pack.given.session}`; // pages from the disk may share one store
/** What the rater gave so far; nothing before the consent. @type {GivenAnswers | null} */
let kept = null;

function read() {
  try {
    kept = JSON.parse(localStorage.getItem(place) ?? "null") ?? kept;
  } catch {
    // the browser stores nothing for pages from the disk
  }
  return kept;
}

/** @param {GivenAnswers} given */
function keep(given) {
  kept = given;
  try {
    localStorage.setItem(place, JSON.stringify(given));
  } catch {
    addEventListener("beforeunload", (event) => kept && event.preventDefault()); // else the answers are lost unasked
  }
}

/** @returns {RaterView} */
function view() {
  const given = read();
  if (!given) return { step: "consent" };
  if (given.withdrawn) return { step: "withdrawn" };
  return pack.views[given.answers.length] ?? { step: "done" };
}

/**
 * Take a step as the server does.
 * @param {string} step @param {any} body
 * @returns {boolean} False where it is not open, as after another tab went on.
 */
function take(step, body) {
  const given = read(),
    at = new Date().toISOString();
  if (step === "begin" && !given) keep({ begun: at, answers: [], withdrawn: false });
  else if (step === "withdraw" && given) keep({ ...given, withdrawn: true });
  else if (step === "answer") {
    if (!given || given.withdrawn || body.trial !== given.answers.length) return false;
    keep({ ...given, answers: [...given.answers, { ...body, at }] });
  }
  return true;
}

export const base = "";

/** @param {string} path @param {unknown} [body] @returns {Promise<Response>} */
export async function send(path, body) {
  const [step, name] = path.split(/[/?]/);
  if (step === "study") return Response.json(pack.study);
  if (step === "clip") {
    const bytes = Uint8Array.from(atob(embedded(`clip-${pack.media[name]}`)), (letter) => letter.charCodeAt(0));
    return new Response(bytes, { headers: { "Content-Type": "video/mp4" } });
  }
  return take(step, body) ? Response.json(view()) : Response.json({ reason: "not_open" }, { status: 409 });
}

/** @type {(() => void) | null} */
export const saveAnswers = () =>
  save(`answers-${pack.given.rater}.json`, JSON.stringify({ ...pack.given, ...read() }), "application/json");

/** @type {(() => void) | null} */
export const eraseAnswers = () => {
  kept = null;
  try {
    localStorage.removeItem(place);
  } catch {
    // nothing was stored
  }
};
