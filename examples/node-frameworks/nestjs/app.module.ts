import { Controller, Get, Module } from "@nestjs/common";

@Controller()
class AppController {
  @Get()
  hello() {
    return "Hello!\n";
  }
}

@Module({ controllers: [AppController] })
export class AppModule {}
