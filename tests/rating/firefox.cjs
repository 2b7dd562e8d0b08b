// usage: node firefox.cjs NODE_MODULES FIREFOX LINK; takes part in a study by keyboard, prints a JSON object.
const [, , modules, program, link] = process.argv;
const puppeteer = require(`${modules}/puppeteer-core`);

(async () => {
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: program, headless: true });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const faults = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => { if (message.type() === "error") faults.push(message.text()); });
    await page.goto(link);
    await page.waitForSelector("#begin");
    for (const key of ["Tab", " ", "Tab", " ", "Tab", "Enter"]) await page.keyboard.press(key);
    let answered = 0;
    for (;;) {
      await page.waitForSelector("fieldset:not([disabled]), #next:not([disabled]), main[data-step=done]");
      if (await page.$("main[data-step=done]")) break;
      if (await page.$("fieldset:not([disabled])")) {
        const before = await page.$eval("main", (main) => main.textContent);
        await page.keyboard.press("2");
        await page.waitForSelector("#next:not([disabled])");
        await page.keyboard.press("Enter");
        answered += 1;
        await page.waitForFunction((text) => document.querySelector("main").textContent !== text, {}, before);
      } else await page.keyboard.press("Enter");
    }
    console.log(JSON.stringify({ answered, faults }));
  } finally {
    await browser.close();
  }
})().catch((error) => { console.error(error); process.exit(1); });
