import { Controller, Get, Module, Req } from "@nestjs/common";
import type { Request } from "express";

@Controller()
class AppController {
  @Get()
  hello(@Req() request: Request) {
    return `Hello! ${request.rateLimit?.remaining} left\n`;
  }
}

@Module({ controllers: [AppController] })
export class AppModule {}
